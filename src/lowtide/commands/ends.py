"""A program's inputs and outputs where they are not the file's (passes/ends.py): what its header says of
them."""

from __future__ import annotations

from lowtide.commands.options import Options
from lowtide.errors import ModelError
from lowtide.ir import DType, Graph


def check_streamed(graph: Graph, options: Options) -> None:
    """Raise ModelError for streamed inputs of four bits."""
    for tensor in graph.inputs if options.input_mode == "streamed" else ():
        if graph.tensors[tensor].dtype in (DType.INT4, DType.UINT4):
            raise ModelError(
                f"graph input {tensor} has 4-bit values, and a row of them can end within a byte",
                "leave out --input streamed",
            )


def ends_notes(file: Graph, program: Graph) -> dict[tuple[str, int], str]:
    """What a caller must know of inputs and outputs that are not as in the file: by kind and index."""
    notes = {}
    for kind, old, new in (
        ("INPUT", file.inputs, program.given),
        ("OUTPUT", file.outputs, program.outputs),
    ):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            before, after = file.tensors[was].shape, program.tensors[now].shape
            said = []
            if now in program.turned:
                batch, columns, rows, channels = after
                shape = f"{batch}, {rows}, {columns}, {channels}"
                flat = ", flat in the file" if len(before) != len(after) else ""
                said.append(f"its rows are the columns of the file's input, {{{shape}}}{flat}")
            elif before != after and sorted(before) == sorted(after):
                shape = ", ".join(map(str, before))
                said.append(f"with its channels last; the file has them first, {{{shape}}}")
            if _is_byte(program, now, file):
                said.append("uint8, 128 more than in int8")
            if said:
                notes[kind, i] = "; ".join(said)
    return notes


def _is_byte(program: Graph, tensor: int, file: Graph) -> bool:
    """Whether it is of uint8 in place of int8."""
    return program.tensors[tensor].dtype is DType.UINT8 and tensor >= len(file.tensors)
