"""Networks of the zoo as a training framework has them: with floats.

Why: `lowtide quantize` is to be tried, and tested, without a framework. The weights are the real values
of those in int8, so what comes out is as good as its quantiser.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowtide.errors import UsageError
from lowtide.tflite.pack import pack
from lowtide.tflite.schema import schema
from lowtide.tflite.table import File
from lowtide.tflite.unpack import unpack

_STORED = {"INT8": "<i1", "INT32": "<i4"}


def with_floats(file: bytes, name: str) -> bytes:
    """The int8 network in `file` with floats in place of all that is quantised.

    Raises UsageError for a network with state, whose operators have other forms for floats.
    """
    values = unpack(File(file).root)
    types = schema().enums["TensorType"]
    main = values["subgraphs"][0]
    tensors: list[dict[str, Any]] = main["tensors"]
    kinds = [types[tensor.get("type", 0)] for tensor in tensors]
    state = any(op.get("intermediates") for op in main["operators"]) or "RESOURCE" in kinds
    if state or any(tensor.get("is_variable") for tensor in tensors):
        raise UsageError(
            f"zoo:{name} has state, so it has no float version", "choose another network"
        )
    floats = next(value for value, known in types.items() if known == "FLOAT32")
    for tensor, kind in zip(tensors, kinds, strict=True):
        quant = tensor.pop("quantization", None)
        if not quant or not quant.get("scale"):
            continue
        tensor["type"] = floats
        buffer = values["buffers"][tensor.get("buffer", 0)]
        if buffer.get("data"):
            q = np.frombuffer(bytes(buffer["data"]), _STORED[kind]).reshape(tensor["shape"])
            shape = [1] * q.ndim
            if len(quant["scale"]) > 1:
                shape[quant.get("quantized_dimension", 0)] = len(quant["scale"])
            scale = np.array(quant["scale"], np.float64).reshape(shape)
            buffer["data"] = (q * scale).astype("<f4").tobytes()  # all constants are symmetric
    for code in values["operator_codes"]:
        code["version"] = 1
    return pack(values)
