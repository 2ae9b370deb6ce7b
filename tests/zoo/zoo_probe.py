"""Runs one network of the zoo in LiteRT and in TFLM and prints what it saw as JSON.

Why a program of its own: a kernel that dislikes a file may abort the process it runs in.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_micro import runtime

from lowtide import zoo

_INPUTS = 4
_WARM_UP = 20  # calls after which variables hold nothing of what they began with
_ARENA_BYTES = 8 << 20  # the runtime's own guess, from the file's size, is too small for attention


def probe(name: str) -> dict[str, Any]:
    """Outputs of both runtimes, and per activation the share of saturated elements."""
    contents = zoo.build(name)
    litert = Interpreter(
        model_content=contents,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    litert.allocate_tensors()
    micro = runtime.Interpreter.from_bytes(contents, arena_size=_ARENA_BYTES)
    source, target = litert.get_input_details()[0], litert.get_output_details()[0]
    graph = schema.ModelT.InitFromPackedBuf(contents, 0).subgraphs[0]
    made = [int(tensor) for op in graph.operators for tensor in op.outputs]
    activations = [t for t in made if graph.tensors[t].type == schema.TensorType.INT8]

    saturated = dict.fromkeys(activations, 0.0)
    distinct, difference = set(), 0
    first = -_WARM_UP if any(not len(op.outputs) for op in graph.operators) else 0
    for seed in range(first, _INPUTS):
        x = np.random.default_rng(seed % 99).integers(-128, 128, source["shape"]).astype(np.int8)
        litert.set_tensor(source["index"], x)
        litert.invoke()
        micro.set_input(x, 0)
        micro.invoke()
        reference = litert.get_tensor(target["index"]).astype(int)
        if seed < 0:
            continue
        difference = max(difference, int(np.abs(reference - micro.get_output(0)).max()))
        distinct.add(micro.get_output(0).tobytes())
        for index in activations:
            q = litert.get_tensor(index)
            saturated[index] += float(((q == -128) | (q == 127)).mean()) / _INPUTS
    return {
        "outputs": len(distinct),
        "difference": difference,
        "saturated": saturated,
    }


if __name__ == "__main__":
    print("PROBE", json.dumps(probe(sys.argv[1])))
