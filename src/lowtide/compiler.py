"""From a model to a bundle of C files: the stages behind `lowtide compile`.

load -> passes -> best order -> lower and place (emit.assemble) -> C (emit.bundle)
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lowtide.emit.assemble import Assembly, InputMode, OutputMode, Schedule, assemble
from lowtide.emit.bundle import bundle
from lowtide.emit.c_writer import c_name, check_name
from lowtide.emit.readme import readme
from lowtide.errors import UsageError
from lowtide.files import make_folder, write_together
from lowtide.ir import Graph, Model
from lowtide.ir.passes import drop_boundary_quantization, fold_pads, resolve_variables
from lowtide.schedule import OrderResult, best_order


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. `align` is the arena's alignment in bytes, a power of two from 4 up.

    `schedule` is rows, which interleaves the steps of operators and places rows, or operators, which
    runs them one after the other and places whole tensors with `allocator`: planned, greedy or
    compacting. `input_mode` says where inputs live: resident in the arena; const, in memory of the
    caller's that stays readable; or streamed, their rows given as they are needed. `output_mode`:
    resident, or streamed, their rows handed over as they are made. `preserve_input` keeps resident
    inputs intact. `quantized_io` drops a QUANTIZE or DEQUANTIZE at the model's boundary.
    `name` prefixes every public C name; by default it is made from the file's name.
    """

    schedule: Schedule = "rows"
    allocator: str = "planned"
    input_mode: InputMode = "resident"
    output_mode: OutputMode = "resident"
    preserve_input: bool = False
    quantized_io: bool = False
    align: int = 16
    name: str | None = None

    def __post_init__(self) -> None:
        if not 4 <= self.align <= 4096 or self.align & (self.align - 1):
            raise UsageError(
                f"--align {self.align} cannot be",
                "use a power of two, at least 4 and at most 4096 (default 16)",
            )
        if self.schedule == "operators" and "streamed" in (self.input_mode, self.output_mode):
            raise UsageError(
                "operators that run one after the other need their whole input",
                "leave out --schedule operators to stream rows in or out",
            )
        if self.schedule == "rows" and self.allocator != "planned":
            raise UsageError(
                f"rows are not placed by the {self.allocator} allocator",
                "give --schedule operators as well, to place whole tensors with it",
            )
        if self.preserve_input and self.input_mode != "resident":
            raise UsageError(
                f"a {self.input_mode} input is not in the arena, so it cannot be preserved there",
                "leave out --preserve-input",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A program as C: `files` is the whole bundle, {file name: contents}."""

    model: Model = field(repr=False)
    name: str
    options: Options
    order: OrderResult
    assembly: Assembly = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def graph(self) -> Graph:
        """The graph that was compiled: the model's after the passes."""
        return self.assembly.graph

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena the program needs (exact: nothing else is allocated from it)."""
        return self.assembly.arena_bytes

    def write(self, folder: str | Path) -> None:
        """Write the bundle into `folder`, which is made if missing. Raises UsageError."""
        target = Path(folder)
        new = not target.exists()
        make_folder(target)
        try:
            write_together({target / name: content for name, content in self.files.items()})
        except BaseException:
            if new:
                with contextlib.suppress(OSError):
                    target.rmdir()
            raise


def compile_model(
    model: Model, options: Options | None = None, *, seconds: float = 20.0
) -> Compiled:
    """Compile `model` to C: operators in their best order, their rows interleaved.

    Raises ModelError for an operator or type without a kernel. `seconds` limits the search for the
    order.
    """
    chosen = options or Options()
    name = check_name(chosen.name) if chosen.name is not None else c_name(_stem(model.path))
    graph = fold_pads(resolve_variables(model.graph))
    if chosen.quantized_io:
        graph = drop_boundary_quantization(graph)
    order = best_order(graph, seconds=seconds)
    assembly = assemble(
        graph,
        order.order,
        schedule=chosen.schedule,
        allocator=chosen.allocator,
        input_mode=chosen.input_mode,
        output_mode=chosen.output_mode,
        preserve_input=chosen.preserve_input,
        align=chosen.align,
    )
    files = bundle(assembly, name)
    files["README.md"] = readme(assembly, name, chosen.preserve_input).encode()
    return Compiled(model, name, chosen, order, assembly, files)


def _stem(path: str) -> str:
    return path.removeprefix("zoo:").rpartition("/")[2].removesuffix(".tflite")
