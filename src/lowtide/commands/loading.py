"""Programs that can be called: the C that ships, built as a library and run in this process.

Compiled --> machines/host.py: built with -O2, or with sanitizers in a process of its own --> Program
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.commands.cutting import signature_of
from lowtide.errors import ModelError, UsageError
from lowtide.ir import Graph, Model, Tensor
from lowtide.machines.calling import Running
from lowtide.machines.host import host_build

Array = NDArray[Any]
Given = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]
"""The inputs of a program: an array if there is one; else one each, in their order or by name."""

_PART: Final = 16
"""Samples per call of C, so that an interrupt need not wait for all of them."""


@dataclass(frozen=True, slots=True)
class End:
    """An input or output of a program: its name in the file, and the shape and type of its array.

    A value `q` of integers stands for the real number `scale * (q - zero_point)`; `scale` is None where
    it stands for itself.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scale: float | None = None
    zero_point: int = 0

    def stored(self, real: Array) -> Array:
        """Real numbers as the network's QUANTIZE stores them: half away from zero, and saturated.

        Integers of an end without a scale stay as they are. Raises UsageError for NaN.
        """
        if self.scale is None:
            return real
        if real.dtype.kind not in "fiub":
            raise self._mistyped(real)
        parts = real.astype(np.float32) / np.float32(self.scale)
        if np.isnan(parts).any():
            raise UsageError(f"{self._this} contains NaN", "give numbers")
        exact = parts.astype(np.float64)
        rounded = np.copysign(np.floor(np.abs(exact) + 0.5), exact) + self.zero_point
        limits = np.iinfo(self.dtype)
        stored: Array = np.clip(rounded, limits.min, limits.max).astype(self.dtype)
        return stored

    def real(self, stored: Array) -> Array:
        """Stored integers as the real numbers that they stand for, float32."""
        if self.scale is None:
            return stored
        parts = stored.astype(np.float64) - self.zero_point
        return (parts * np.float64(np.float32(self.scale))).astype(np.float32)

    def checked(self, array: Array) -> Array:
        """`array` in this type, in one piece; its shape is right already.

        Integers of any type may be given if their values fit. Raises UsageError for what does not fit.
        """
        if array.dtype != self.dtype:
            self._check_values(array)
        elif array.dtype.kind == "f" and np.isnan(array).any():
            raise UsageError(f"{self._this} contains NaN", "give numbers")
        return np.ascontiguousarray(array, self.dtype)

    def _check_values(self, array: Array) -> None:
        """Raise UsageError if an array of another type holds what this type cannot."""
        kind = array.dtype.kind
        if self.dtype.kind == "f" and kind in "fiub":
            if np.isnan(array).any():
                raise UsageError(f"{self._this} contains NaN", "give numbers")
            return
        if kind == "f" and self.scale is not None:
            raise UsageError(
                f"{self._this} is {array.dtype}, but the program takes {self.dtype}",
                "give real numbers to .real(), which quantises them, or the network's integers",
            )
        if kind not in "iub" or self.dtype.kind == "f":
            raise self._mistyped(array)
        limits = (0, 1)
        if self.dtype.kind != "b":
            limits = (int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max))
        if array.size and not limits[0] <= int(array.min()) <= int(array.max()) <= limits[1]:
            raise UsageError(
                f"{self._this} has values from {array.min()} to {array.max()}",
                f"give {self.dtype}: {limits[0]} to {limits[1]}",
            )

    def _mistyped(self, array: Array) -> UsageError:
        return UsageError(f"{self._this} is {array.dtype}", f"give an array of {self.dtype}")

    @property
    def _this(self) -> str:
        return f"input {self.name!r}"


class Program:
    """A compiled network that you can call. It runs the generated C.

    `program(x)` runs one inference. Its arrays have exactly the shapes and types of `inputs`.
    `program.many` runs many inferences, one after the other. A network with state keeps it from one
    inference to the next, until `reset`. Before each inference, the arena is filled with 0xA5, so
    no inference depends on its contents.

    Several threads can call an instance, and take turns. Several instances run at the same time. An
    instance ends with `close`, at the end of a `with` block, or when nothing refers to it.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        name: str,
        inputs: Sequence[End],
        outputs: Sequence[End],
        *,
        sanitize: bool = False,
        cached: bool = True,
    ) -> None:
        """Build the bundle `files` of the program `name`, and start it; see `Compiled.load`."""
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.sanitized = sanitize
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="lowtide-", ignore_cleanup_errors=True)
        at = Path(self._folder.name)
        try:
            self._running: Running | None = host_build(
                files, name, at, sanitize=sanitize, shared=not sanitize, cached=cached
            ).start()
        except BaseException:
            self._folder.cleanup()
            raise
        if not sanitize and os.name != "nt":  # what is mapped needs no file
            self._folder.cleanup()

    def __call__(self, inputs: Given) -> Any:
        """One inference: an array of each input's shape and type gives one of each output's.

        A network of one input takes an array; one of several takes a tuple of them, or a mapping by
        name. One output is an array, several are a tuple. Raises UsageError for arrays that do not fit,
        ProgramError if the program fails.
        """
        return self._one(inputs, real=False)

    def real(self, inputs: Given) -> Any:
        """One inference with real numbers, which scales and zero points convert to integers and
        back.

        Numbers are rounded, half away from zero, and saturated, as the network's own QUANTIZE does.
        If an input or output has no scale, its integers stay unchanged.
        """
        return self._one(inputs, real=True)

    def many(self, inputs: Given) -> Any:
        """Inferences one after the other. Arrays have one more first axis, [n, ...], for the
        samples.

        If an input's first axis is 1, you can leave it out: [n, 32, 32, 3] for [1, 32, 32, 3].
        Outputs are [n, ...] of the output's whole shape. A network with state takes the samples as
        a sequence.
        """
        return self._many(inputs, real=False)

    def real_many(self, inputs: Given) -> Any:
        """`many` with real numbers: see `real`."""
        return self._many(inputs, real=True)

    def reset(self) -> None:
        """Reset the state to its initial values. For a network without state, this does nothing."""
        with self._lock:
            self._open().reset()

    def close(self) -> None:
        """End the program and free its memory."""
        with self._lock:
            if self._running is not None:
                self._running.close()
                self._running = None
                self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise UsageError(
            "a loaded program cannot be copied, or sent to another process",
            "send the compiled network instead, and load it there",
        )

    def __repr__(self) -> str:
        def named(ends: Sequence[End]) -> str:
            return ", ".join(f"{e.name}: {e.dtype}{list(e.shape)}" for e in ends)

        state = "closed" if self._running is None else "sanitized" if self.sanitized else "loaded"
        return f"<Program {self.name}, {state}: ({named(self.inputs)}) -> ({named(self.outputs)})>"

    def _open(self) -> Running:
        if self._running is None:
            raise UsageError("the program is closed", "load it again")
        return self._running

    def _one(self, inputs: Given, *, real: bool) -> Any:
        arrays = self._arrays(inputs)
        for end, array in zip(self.inputs, arrays, strict=True):
            if array.shape != end.shape:
                raise UsageError(
                    f"input {end.name!r} has shape {list(array.shape)}",
                    f"give an array of shape {list(end.shape)}, or many to .many()",
                )
        made = self._run([array[None] for array in arrays], 1, real=real)
        return _given(made, one=True)

    def samples(self, inputs: Given) -> list[Array]:
        """The arrays that `many` takes, one for each input: [n, ...] of the input's whole shape.

        Raises UsageError for shapes that do not fit, or for different numbers of samples.
        """
        arrays = []
        for end, array in zip(self.inputs, self._arrays(inputs), strict=True):
            shape = end.shape
            if array.ndim == 0 or array.shape[1:] not in (
                (shape, shape[1:]) if shape[:1] == (1,) else (shape,)
            ):
                raise UsageError(
                    f"input {end.name!r} has shape {list(array.shape)}",
                    f"give N samples: an array of shape [N{''.join(f', {d}' for d in shape)}]",
                )
            arrays.append(array.reshape(len(array), *shape))
        if len({len(array) for array in arrays}) > 1:
            each = ", ".join(f"{e.name} {len(a)}" for e, a in zip(self.inputs, arrays, strict=True))
            raise UsageError(
                f"inputs have different numbers of samples: {each}", "give the same number for each"
            )
        return arrays

    def _many(self, inputs: Given, *, real: bool) -> Any:
        arrays = self.samples(inputs)
        return _given(self._run(arrays, len(arrays[0]) if arrays else 0, real=real), one=False)

    def _arrays(self, inputs: Given) -> list[Array]:
        """What was given for each input, as an array."""
        names = [end.name for end in self.inputs]
        given: list[Any]
        if isinstance(inputs, Mapping):
            if set(inputs) != set(names):
                raise UsageError(
                    f"inputs are named {', '.join(map(str, inputs)) or 'nothing'}",
                    f"name them {', '.join(names)}",
                )
            given = [inputs[name] for name in names]
        elif isinstance(inputs, tuple) or (len(names) != 1 and isinstance(inputs, list)):
            given = list(inputs)
        else:
            given = [inputs]
        if len(given) != len(names):
            raise UsageError(
                f"{len(given)} input{'s' * (len(given) != 1)} given to a network of {len(names)}",
                f"give a tuple of arrays, or a mapping by name: {', '.join(names)}",
            )
        return [_array(end, each) for end, each in zip(self.inputs, given, strict=True)]

    def _run(self, arrays: Sequence[Array], samples: int, *, real: bool) -> list[Array]:
        """The outputs' samples; `arrays` has those of the inputs."""
        made = [np.empty((samples, *end.shape), end.dtype) for end in self.outputs]
        with self._lock:
            running = self._open()
            for start in range(0, samples, _PART):
                stop = min(start + _PART, samples)
                part = [
                    end.checked(end.stored(array[start:stop]) if real else array[start:stop])
                    for end, array in zip(self.inputs, arrays, strict=True)
                ]
                outputs = running.run(part, stop - start, first=start)
                for whole, output, end in zip(made, outputs, self.outputs, strict=True):
                    whole[start:stop] = output.view(end.dtype).reshape(-1, *end.shape)
        if real:
            return [end.real(each) for end, each in zip(self.outputs, made, strict=True)]
        return made


def _given(made: Sequence[Array], *, one: bool) -> Any:
    """Outputs as the caller gets them; of one sample, if `one`."""
    outputs = tuple(each[0] for each in made) if one else tuple(made)
    return outputs[0] if len(outputs) == 1 else outputs


def _array(end: End, given: Any) -> Array:
    try:
        array = np.asarray(given)
    except ValueError:  # lists of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "fiub":
        raise UsageError(
            f"input {end.name!r} is not an array of numbers", f"give an array of {end.dtype}"
        )
    return array


def ends_of(model: Model, graph: Graph) -> tuple[tuple[End, ...], tuple[End, ...]]:
    """Inputs and outputs of the program that `graph`, which is `model`'s after the passes, became.

    Raises ModelError for types that NumPy lacks.
    """
    signature = signature_of(model)
    ends = (signature.inputs, graph.given), (signature.outputs, graph.outputs)
    inputs, outputs = (
        tuple(_end(name, graph.tensors[t]) for (name, _), t in zip(named, tensors, strict=True))
        for named, tensors in ends
    )
    return inputs, outputs


def _end(name: str, tensor: Tensor) -> End:
    dtype = None
    with suppress(TypeError):
        dtype = np.dtype(tensor.dtype.name.lower())
    if dtype is None:
        raise ModelError(
            f"{name} has type {tensor.dtype.name}, which NumPy does not support",
            "call the C itself, or change that type",
        )
    quant = tensor.quant
    if quant is None or len(quant.scale) != 1 or dtype.kind not in "iu":
        return End(name, tensor.shape, dtype)
    return End(name, tensor.shape, dtype, float(quant.scale[0]), int(quant.zero_point[0]))
