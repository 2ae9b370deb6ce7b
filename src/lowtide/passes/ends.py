"""A program's inputs and outputs where they are not the file's: what the caller does in its stead.

Why apart: each of these changes the C interface, so each is said in the header, and refused where there
is nothing to change.
"""

from __future__ import annotations

from lowtide.errors import ModelError, UsageError
from lowtide.ir.graph import Graph
from lowtide.modes import InputType, Layout
from lowtide.passes.boundary import channels_last, drop_boundary_quantization
from lowtide.passes.unsigned import unsigned_inputs


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
                f"graph input {tensor} is {kind}: the file holds its contents, so a "
                "caller cannot give it",
                "remove it from the model's list of inputs, or remove its contents from the file",
            )
    return graph


def own_ends(
    graph: Graph, quantized: bool, layouts: tuple[Layout, Layout], input_type: InputType
) -> Graph:
    """The graph without the conversions and turns at its boundary that the caller wants to do.

    Raises UsageError where an image is to have its channels last, and there is no TRANSPOSE to drop, and
    for inputs of uint8 where none is of int8.
    """
    dropped = drop_boundary_quantization(graph) if quantized else graph
    for layout, which in zip(layouts, ("input", "output"), strict=True):
        if layout == "nhwc":
            turned = _turned(dropped, which)
            if turned is dropped:
                raise _nothing_to_turn(graph, which)
            dropped = turned
    dropped = drop_boundary_quantization(dropped) if quantized else dropped
    return _with_bytes(dropped) if input_type == "uint8" else dropped


def _turned(graph: Graph, which: str) -> Graph:
    return channels_last(graph, inputs=which == "input", outputs=which == "output")


def _nothing_to_turn(graph: Graph, which: str) -> UsageError:
    bare = drop_boundary_quantization(graph)
    return UsageError(
        f"--{which}-layout nhwc: no {which} of the network passes through a TRANSPOSE between channels "
        "first and last",
        f"leave it out: the program uses the file's layout of the {which}"
        if _turned(bare, which) is bare
        else "give --quantized-io as well, because a conversion from or to floats is in between",
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
