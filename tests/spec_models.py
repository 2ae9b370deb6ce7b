"""Models for tests that the zoo's writer writes: what models of convolutions and of signals share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write


class Specs:
    """A model under construction; tensors are known by their index."""

    def __init__(self) -> None:
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []
        self.inputs: list[int] = []

    def tensor(self, shape: Sequence[int], dtype: str, **fields: Any) -> int:
        """A tensor; `fields` are others of `TensorSpec`."""
        self.tensors.append(TensorSpec(f"t{len(self.tensors)}", tuple(shape), dtype, **fields))
        return len(self.tensors) - 1

    def file(self, name: str, outputs: Sequence[int]) -> bytes:
        """The file, with these outputs."""
        tensors, ops = tuple(self.tensors), tuple(self.ops)
        return write(NetSpec(name, tensors, ops, tuple(self.inputs), tuple(outputs)))
