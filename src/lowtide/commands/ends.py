"""A program's inputs and outputs where they are not the file's: what the caller does in its stead.

Why apart: each of these changes the C interface, so each is said in the header, and refused where there
is nothing to change.
"""

from __future__ import annotations

from lowtide.commands.options import Options
from lowtide.errors import ModelError, UsageError
from lowtide.ir import DType, Graph
from lowtide.passes import channels_last, drop_boundary_quantization, unsigned_inputs


def check_ends(graph: Graph) -> Graph:
    """`graph` itself; raises ModelError for one without outputs, or with a constant that its caller
    should give."""
    if not graph.outputs:
        raise ModelError(
            "the model has no outputs: there is nothing to compute",
            "export it with its outputs named",
        )
    for tensor in graph.inputs:
        value = graph.tensors[tensor]
        if value.is_constant or value.is_variable:
            kind = "a constant" if value.is_constant else "a variable tensor"
            raise ModelError(
                f"graph input {tensor} is {kind}: the file has its contents, and no caller can give it",
                "take it off the list of the model's inputs, or take its contents out of the file",
            )
    return graph


def check_streamed(graph: Graph, options: Options) -> None:
    """Raise ModelError for streamed inputs of four bits."""
    for tensor in graph.inputs if options.input_mode == "streamed" else ():
        if graph.tensors[tensor].dtype in (DType.INT4, DType.UINT4):
            raise ModelError(
                f"graph input {tensor} has values of four bits: a row of them need not end with a byte",
                "leave out --input streamed",
            )


def own_ends(graph: Graph, options: Options) -> Graph:
    """The graph without the conversions and turns at its boundary that the caller wants to do.

    Raises UsageError where an image is to have its channels last, and there is no TRANSPOSE to drop, and
    for inputs of uint8 where none is of int8.
    """
    layouts = (options.input_layout, "input"), (options.output_layout, "output")
    dropped = drop_boundary_quantization(graph) if options.quantized_io else graph
    for layout, which in layouts:
        if layout == "nhwc":
            turned = _turned(dropped, which)
            if turned is dropped:
                raise _nothing_to_turn(graph, which)
            dropped = turned
    dropped = drop_boundary_quantization(dropped) if options.quantized_io else dropped
    return _with_bytes(dropped) if options.input_type == "uint8" else dropped


def _turned(graph: Graph, which: str) -> Graph:
    return channels_last(graph, inputs=which == "input", outputs=which == "output")


def _nothing_to_turn(graph: Graph, which: str) -> UsageError:
    bare = drop_boundary_quantization(graph)
    return UsageError(
        f"--{which}-layout nhwc: no {which} of the network passes a TRANSPOSE between channels first "
        "and last",
        f"leave it out: the program has the {which} as the file has it"
        if _turned(bare, which) is bare
        else "give --quantized-io as well, as floats are converted before or behind it",
    )


def _with_bytes(graph: Graph) -> Graph:
    """The graph with inputs of uint8."""
    found = unsigned_inputs(graph)
    if found is graph:
        kinds = ", ".join(dict.fromkeys(graph.tensors[t].dtype.name for t in graph.inputs))
        raise UsageError(
            f"--input-type uint8: the network has no int8 input with a scale, but {kinds or 'none'}",
            "leave it out, or give --quantized-io as well if floats are converted first",
        )
    return found


def ends_notes(file: Graph, program: Graph) -> dict[tuple[str, int], str]:
    """What a caller must know of inputs and outputs that are not as in the file: by kind and index."""
    notes = {}
    for kind, old, new in (
        ("INPUT", file.inputs, program.inputs),
        ("OUTPUT", file.outputs, program.outputs),
    ):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            before, after = file.tensors[was].shape, program.tensors[now].shape
            said = []
            if before != after and sorted(before) == sorted(after):
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
