"""The model's boundary: the caller may give and take the integers that the network computes with."""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import DType, Graph
from lowtide.passes.rewriting import readers_of, with_ops


def drop_boundary_quantization(graph: Graph) -> Graph:
    """Let the caller give and take quantised values where the model converts from and to float.

    A QUANTIZE of a float graph input goes if nobody else reads that input, and its result becomes the
    input; a DEQUANTIZE that makes a float graph output goes if nobody reads that output, and its
    input becomes the output. Positions among the inputs and outputs stay.
    """
    readers = readers_of(graph)
    makers = {tensor: op for op in graph.ops for tensor in op.outputs}
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    gone = set()
    for position, tensor in enumerate(inputs):
        using = readers.get(tensor, [])
        if len(using) != 1 or tensor in outputs or inputs.count(tensor) > 1:
            continue
        op = using[0]
        if op.type == "QUANTIZE" and _is_float(graph, tensor) and op.outputs[0] not in outputs:
            inputs[position] = op.outputs[0]
            gone.add(op.id)
    for position, tensor in enumerate(outputs):
        maker = makers.get(tensor)
        if maker is None or maker.type != "DEQUANTIZE" or not _is_float(graph, tensor):
            continue
        source = maker.inputs[0]
        made = source in makers and makers[source].id not in gone
        if made and tensor not in readers and source not in outputs and outputs.count(tensor) == 1:
            outputs[position] = source
            gone.add(maker.id)
    changed = replace(graph, inputs=tuple(inputs), outputs=tuple(outputs))
    return with_ops(changed, (op for op in graph.ops if op.id not in gone))


def _is_float(graph: Graph, tensor: int) -> bool:
    return graph.tensors[tensor].dtype is DType.FLOAT32
