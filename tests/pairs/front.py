"""A network behind another one: what comes first can be cut into strips and blocks, slide, or be turned.

Why: most families of operators meet strips, blocks, hops and layouts only where something before them
has these. So any network can be given a front of convolutions, from whose result its inputs are made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np

from schema_models import Net
from stateful import assign, handle, read

_KINDS = {number: name for name, number in vars(schema.TensorType).items() if name.isupper()}
_TYPES = {"INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16, "INT32": np.int32}
_SAME, _VALID = 0, 1
_RELU6 = 3
_COARSE = 40
_MOST = 4096
"""Elements of an input that is made of the front's result."""


@dataclass(frozen=True, slots=True)
class Front:
    """The front of that number: of which end the image has its channels first, whether it has state, and
    whether its weights are so large that few quick kernels take them."""

    seed: int
    turned_input: bool = False
    turned_output: bool = False
    state: bool = False
    coarse: bool = False


class TooLargeError(Exception):
    """The network has inputs that no front makes."""


def behind(front: Front, data: bytes) -> bytes:
    """The network of that file behind a front. Raises TooLargeError for inputs that it cannot make."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    main = model.subgraphs[0]
    net = Net(np.int8, 0.05, 3)
    net.tensors, net.buffers = main.tensors, model.buffers
    net.codes = {f"#{number}": number for number in range(len(model.operatorCodes))}
    known = len(net.codes)
    maker = _Maker(net, Random(front.seed))
    given, own = list(main.inputs), main.operators
    sizes = [math.prod(_shape(net, tensor)) for tensor in given]
    if not sizes or max(sizes) > _MOST or any(_kind(net, t) not in _ABLE for t in given):
        raise TooLargeError
    result = maker.front(front, max(sizes))
    made = {tensor: maker.like(result, tensor) for tensor in given}
    for op in own:
        op.inputs = [made.get(tensor, tensor) for tensor in op.inputs]
    main.inputs = net.inputs
    outputs = [made.get(tensor, tensor) for tensor in main.outputs]
    main.outputs = [*maker.turned, *outputs]
    main.operators = [*net.operators, *own]
    for name in list(net.codes)[known:]:
        code = getattr(schema.BuiltinOperator, name)
        model.operatorCodes.append(
            schema.OperatorCodeT(deprecatedBuiltinCode=min(code, 127), builtinCode=code, version=1)
        )
    model.signatureDefs = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _shape(net: Net, tensor: int) -> list[int]:
    found = net.tensors[tensor].shape
    return [] if found is None else [int(n) for n in found]


def _kind(net: Net, tensor: int) -> str:
    return str(_KINDS[net.tensors[tensor].type])


_ABLE = {"INT8", "UINT8", "INT16", "INT32", "INT64", "FLOAT32", "BOOL"}


class _Maker:
    """Adds operators of int8 to a net."""

    def __init__(self, net: Net, rng: Random) -> None:
        self.net, self.rng = net, rng
        self.values = np.random.default_rng(rng.randrange(1 << 30))
        self.plants = rng.random() < 0.5
        self.coarse = False
        self.turned: list[int] = []

    def front(self, front: Front, size: int) -> int:
        """[1, size] or more, of an image: pointwise and depthwise convolutions, and others."""
        net, rng = self.net, self.rng
        self.coarse = front.coarse
        high, wide, deep = rng.randint(6, 10), rng.randint(7, 12), rng.choice((2, 3, 4, 8))
        if front.turned_input:
            image = net.input((1, deep, high, wide))
            x = self.turn(image, (0, 2, 3, 1))
        else:
            x = net.input((1, high, wide, deep))
        if rng.random() < 0.5:
            x = self.window(x, rng.choice((4, 6, 8)), rng.choice(((3, 3), (2, 3), (3, 1))))
        for _ in range(rng.randint(1, 2)):
            x = self.window(x, rng.choice((16, 24, 30)), (1, 1))
            x = self.window(x, 0, (3, 3))
            x = self.window(x, rng.choice((4, 8)), (1, 1))
        if front.turned_output:
            self.turned = [self.turn(x, (0, 3, 1, 2))]
        _, high, wide, _ = _shape(net, x)
        x = self.window(x, -(-size // (high * wide)), (1, 1))
        x = self.view(x, [1, math.prod(_shape(net, x))])
        if not front.state:
            return x
        variable, shape = handle(net, "front"), _shape(net, x)
        before = read(net, variable, shape)
        assign(net, variable, x)
        return net.op("ADD", [before, x], shape, options=schema.AddOptionsT())

    def turn(self, x: int, order: tuple[int, ...]) -> int:
        shape = [_shape(self.net, x)[axis] for axis in order]
        options = schema.TransposeOptionsT()
        return self.net.op("TRANSPOSE", [x, self.net.const(order)], shape, options=options)

    def view(self, x: int, shape: list[int], **fields: Any) -> int:
        options = schema.ReshapeOptionsT(newShape=shape)
        return self.net.op("RESHAPE", [x, self.net.const(shape)], shape, options=options, **fields)

    def window(self, x: int, channels: int, kernel: tuple[int, int]) -> int:
        """A convolution, or, of no channels, a depthwise one; now and then a channel is constant."""
        net, rng, values = self.net, self.rng, self.values
        _, high, wide, deep = _shape(net, x)
        fits = high >= kernel[0] and wide >= kernel[1]
        padding = _SAME if not fits or rng.random() < 0.5 else _VALID
        if padding == _VALID:
            high, wide = high - kernel[0] + 1, wide - kernel[1] + 1
        out = channels or deep
        shape = (out, *kernel, deep) if channels else (1, *kernel, deep)
        scales = values.uniform(0.5, 1.5, out).astype(np.float32) / np.float32(
            16 * math.sqrt(math.prod(shape[1:]) if channels else math.prod(kernel))
        )
        if self.coarse:
            scales *= np.float32(_COARSE)
        weights, bias = values.integers(-127, 128, shape), values.integers(-500, 500, out)
        if self.plants and rng.random() < 0.3:
            weights[(0,) if channels else (..., 0)] = 0
        axis = 0 if channels else 3
        operands = [
            x,
            net.const(weights, np.int8, quant=(scales, 0), axis=axis),
            net.const(bias, quant=(scales * np.float32(net.quant[0]), 0)),
        ]
        fields = {"padding": padding, "strideH": 1, "strideW": 1}
        fields |= {"dilationHFactor": 1, "dilationWFactor": 1}
        fields |= {"fusedActivationFunction": rng.choice((0, _RELU6))}
        if channels:
            kind, options = "CONV_2D", schema.Conv2DOptionsT(**fields)
        else:
            kind = "DEPTHWISE_CONV_2D"
            options = schema.DepthwiseConv2DOptionsT(depthMultiplier=1, **fields)
        return net.op(kind, operands, (1, high, wide, out), options=options)

    def like(self, x: int, tensor: int) -> int:
        """Part of `x` as a tensor of the type, scale and shape of another."""
        net = self.net
        shape, kind = _shape(net, tensor), _kind(net, tensor)
        quant = net.tensors[tensor].quantization
        scale = None if quant is None or quant.scale is None else list(quant.scale)
        size = math.prod(shape)
        if size < _shape(net, x)[1]:
            begin, part = net.const([0, 0]), net.const([1, size])
            x = net.op("SLICE", [x, begin, part], (1, size), options=schema.SliceOptionsT())
        if kind == "BOOL":
            limit = net.const([3], np.int8, quant=net.quant)
            options = schema.GreaterOptionsT()
            x = net.op("GREATER", [x, limit], (1, size), options=options, dtype=np.bool_)
        elif kind == "FLOAT32":
            options = schema.DequantizeOptionsT()
            x = net.op("DEQUANTIZE", [x], (1, size), options=options, dtype=np.float32)
        elif scale and kind != "INT64":
            told = (np.array(scale[:1], np.float32), int(quant.zeroPoint[0]))
            options = schema.QuantizeOptionsT()
            x = net.op("QUANTIZE", [x], (1, size), options=options, dtype=_TYPES[kind], quant=told)
        elif kind != "INT8":
            to = {**_TYPES, "INT64": np.int64}[kind]
            options = schema.CastOptionsT(
                inDataType=schema.TensorType.INT8, outDataType=getattr(schema.TensorType, kind)
            )
            x = net.op("CAST", [x], (1, size), options=options, dtype=to, scale=None)
        made = self.view(x, shape)
        net.tensors[made].type = net.tensors[tensor].type
        net.tensors[made].quantization = net.tensors[tensor].quantization
        return made
