"""A float network as one of integers: the stages behind `lowtide quantize`.

load -> weights as floats, a signature -> litert-quantizer, calibrated on samples -> checked for floats
that are left -> compared with the float network on samples held back -> planned
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.arguments import whole
from lowtide.commands.cutting import as_file, part_sentence, signature_of
from lowtide.commands.datasets import Dataset, Sample, load_samples, random_samples
from lowtide.commands.others import distance_of
from lowtide.commands.planned import Planned, planned_model
from lowtide.errors import LowtideError, ModelError, UsageError
from lowtide.files import Replacing, write_atomically
from lowtide.ir import DType, Graph, Model, Op, Quant, Tensor
from lowtide.modes import EngineName
from lowtide.oracle.interpreters import reference_tensors
from lowtide.oracle.quantizer import Recipe, quantize_file
from lowtide.oracle.samples import reference
from lowtide.passes.floats import is_float, with_float_weights
from lowtide.passes.rewriting import with_ops
from lowtide.tflite.read import parse
from lowtide.tflite.write import with_graph
from lowtide.zoo.loading import Named, load

Array = NDArray[Any]
EndType = Literal["float32", "int8", "uint8", "int16"]

_HELD: Final = 4
"""One sample of so many is not calibrated with, but compared."""

_BIASED: Final = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
_ZERO_OF_UINT8: Final = 128


@dataclass(frozen=True, slots=True)
class OutputError:
    """How far an output is from the float network's.

    `snr_db` is signal to noise, in decibels: infinite if they are equal, None if the float output is
    zero throughout. `top1` is in how many places the greatest value of the last axis is the same one,
    as a share; None where that axis has one element.
    """

    name: str
    shape: tuple[int, ...]
    snr_db: float | None
    top1: float | None


@dataclass(frozen=True, slots=True)
class Quantized:
    """The result of `quantize`: the new `model`, its accuracy and its size.

    `calibrated` is the number of samples that determined the ranges, and `compared` the number that
    the result was compared on. These are other samples, or the same ones if there were too few
    (`held_back` is False then). For a hybrid network (`was_hybrid`), the weights were converted to
    floats first. `engine` ran the new model. `planned` is what it needs; or `refused` says why it
    cannot be compiled.
    """

    before: Model = field(repr=False)
    model: Model = field(repr=False)
    bits: int
    version: str
    data: Dataset = field(repr=False)
    calibrated: int
    compared: int
    held_back: bool
    was_hybrid: bool
    engine: EngineName
    outputs: tuple[OutputError, ...]
    planned: Planned | None = field(repr=False)
    refused: str = ""

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the .tflite file completely or not at all. Raises UsageError if that is not
        possible.

        It never replaces the original model; `force` replaces a file of another kind.
        """
        replacing = Replacing((Path(self.before.path),), force)
        write_atomically(Path(path), self.model.source, replacing)


def samples_for(
    model: Named,
    path: str | Path | None = None,
    *,
    most: int = 256,
    image_range: tuple[float, float] = (0.0, 1.0),
) -> Dataset:
    """Read at most `most` samples for the inputs of `model`, from what `lowtide quantize --data`
    takes.

    Without `path`, make 64 random samples, for trials only. Raises UsageError for data that cannot
    be used, and MissingToolError for images without Pillow.
    """
    model, most = load(model), whole("most", most, 1)
    if path is None:
        return random_samples(model.graph, min(most, 64))
    names = [name for name, _ in signature_of(model).inputs]
    return load_samples(Path(path), model.graph, names, most=most, image_range=image_range)


def quantize_model(
    model: Named,
    data: Dataset,
    *,
    bits: int = 8,
    input_type: EndType | None = None,
    output_type: EndType | None = None,
) -> Quantized:
    """Quantise a float or hybrid network to activations of `bits` (8 or 16) and 8-bit weights.

    Inputs and outputs have the type of the activations, or `input_type` and `output_type`. Raises
    MissingToolError without litert-quantizer, ModelError if that leaves operators in floats, and
    UsageError for a network that is already quantised, or for types that cannot be combined.
    """
    _check_types(bits, input_type, output_type)
    if not isinstance(data, Dataset):
        raise UsageError(
            f"data cannot be {type(data).__name__}",
            "give what lowtide.samples_for(model, path) returns",
        )
    model = load(model)
    given, model = model.graph.inputs, as_file(model)
    floats, was_hybrid = _float_file(model)
    ends = list(zip(given, floats.graph.inputs, strict=True))  # a new file has numbers of its own
    samples = [{new: sample[old] for old, new in ends} for sample in data.samples]
    calibrate, compare, held_back = _split(samples)
    signature = floats.signatures[0]
    recipe = Recipe(bits, input_type == "float32", output_type == "float32")
    named = [{name: sample[t] for name, t in signature.inputs} for sample in calibrate]
    made = quantize_file(floats.source, signature.key, named, recipe)
    new = parse(made.file, path=model.path)
    _check_integers(floats, new, bits, made.version)
    if "uint8" in (input_type, output_type):
        new = _with_bytes(new, inputs=input_type == "uint8", outputs=output_type == "uint8")
    engine, outputs = _errors(floats, new, compare)
    planned, refused = None, ""
    try:
        planned = planned_model(new)
    except LowtideError as error:
        refused = str(error)
    return Quantized(
        before=model,
        model=new,
        bits=bits,
        version=made.version,
        data=data,
        calibrated=len(calibrate),
        compared=len(compare),
        held_back=held_back,
        was_hybrid=was_hybrid,
        engine=engine,
        outputs=outputs,
        planned=planned,
        refused=refused,
    )


def _check_types(bits: int, *ends: EndType | None) -> None:
    wrong = {8: "int16", 16: "int8"}[bits]
    if wrong in ends or (bits == 16 and "uint8" in ends):
        given = wrong if wrong in ends else "uint8"
        raise UsageError(
            f"{given} inputs or outputs cannot be combined with {bits}-bit activations",
            "leave out --int16" if bits == 16 else "add --int16",
        )


def _float_file(model: Model) -> tuple[Model, bool]:
    """The network with float weights, unique names and one signature; and whether it was hybrid."""
    graph = model.graph
    if not is_float(graph):
        raise UsageError(
            f"{model.path} is already quantised: most of its operators produce integers",
            "compile it as it is",
        )
    floats = with_float_weights(graph)
    hybrid = floats is not graph
    floats = _with_names(floats)
    signature = signature_of(replace(model, graph=floats))
    # A tensor of another type is a new one in the file.
    origins = [
        None if tensor.data is not graph.tensors[tensor.id].data else tensor.id
        for tensor in floats.tensors
    ]
    source = with_graph(model, floats, origins, signatures=(signature,))
    return parse(source, path=model.path), hybrid


def _with_names(graph: Graph) -> Graph:
    """litert-quantizer knows tensors by their names alone."""
    names = [tensor.name for tensor in graph.tensors]
    tensors = tuple(
        tensor
        if tensor.name and names.count(tensor.name) == 1
        else replace(tensor, name=f"{tensor.name or 'tensor'}_{tensor.id}")
        for tensor in graph.tensors
    )
    return replace(graph, tensors=tensors)


def _split(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample], bool]:
    """Samples to calibrate with and to compare on, and whether those are apart."""
    if len(samples) < _HELD:
        return list(samples), list(samples), False
    held = [sample for i, sample in enumerate(samples) if i % _HELD == _HELD - 1]
    rest = [sample for i, sample in enumerate(samples) if i % _HELD != _HELD - 1]
    return rest, held, True


def _check_integers(floats: Model, made: Model, bits: int, version: str) -> None:
    """Raises ModelError if operators compute with floats, or biases are not of their sums' scale."""
    graph = made.graph
    left = [op for op in graph.ops if _in_floats(graph, op)]
    if left:
        kinds = ", ".join(dict.fromkeys(op.label for op in left))
        of = {op.label for op in left}
        refused = {op.id for op in floats.graph.ops if op.label in of}
        part = part_sentence(floats.graph, refused, "can be quantised")
        remedy = (
            "TensorFlow's converter may quantise it (docs/quantize.md); `lowtide ops` lists what can be "
            "compiled"
        )
        raise ModelError(
            f"litert-quantizer {version} cannot quantise {kinds} to int{bits}, and leaves floats there",
            remedy if part is None else f"{part}; or {remedy}",
        )
    for op in graph.ops:
        bias = graph.tensor(op, 3 if op.type == "TRANSPOSE_CONV" else 2)
        if op.type in _BIASED and bias is not None and bias.dtype not in (DType.INT32, DType.INT64):
            raise ModelError(
                f"litert-quantizer {version} made the bias of operator {op.id} ({op.label}) "
                f"{bias.dtype.name}: it treated the bias as an activation",
                "give it a float network whose weights are constants",
            )


def _in_floats(graph: Graph, op: Op) -> bool:
    """Whether an operator has floats on both sides, or is a conversion inside of the network."""
    tensors = graph.tensors
    read = [t for t in op.inputs if t >= 0 and tensors[t].dtype is DType.FLOAT32]
    made = [t for t in op.outputs if tensors[t].dtype is DType.FLOAT32]
    if op.type == "QUANTIZE" and all(t in graph.inputs for t in read):
        return False
    if op.type == "DEQUANTIZE" and all(t in graph.outputs for t in made):
        return False
    return bool(read or made) and op.type not in ("QUANTIZE", "DEQUANTIZE")


def _with_bytes(model: Model, *, inputs: bool, outputs: bool) -> Model:
    """The network with uint8 in place of int8 at its ends, converted by a QUANTIZE each."""
    graph = model.graph
    for is_input in [True] * inputs + [False] * outputs:
        for position, end in enumerate(graph.inputs if is_input else graph.outputs):
            if graph.tensors[end].dtype is DType.INT8 and graph.tensors[end].quant is not None:
                graph = _converted(graph, position, graph.tensors[end], is_input)
    count = len(model.graph.tensors)
    origins = [t.id if t.id < count else None for t in graph.tensors]
    signature = signature_of(replace(model, graph=graph, signatures=()))
    return parse(with_graph(model, graph, origins, signatures=(signature,)), path=model.path)


def _converted(graph: Graph, position: int, end: Tensor, is_input: bool) -> Graph:
    """The graph with a uint8 tensor as that input or output, and its conversion."""
    assert end.quant is not None
    number = len(graph.tensors)
    quant = Quant(end.quant.scale, (end.quant.zero_point[0] + _ZERO_OF_UINT8,), 0)
    new = replace(end, id=number, name=f"{end.name}_uint8", dtype=DType.UINT8, quant=quant)
    read, made = (number, end.id) if is_input else (end.id, number)
    op = Op(0, "QUANTIZE", (read,), (made,), version=2)
    ends = list(graph.inputs if is_input else graph.outputs)
    ends[position] = number
    changed = replace(graph, tensors=(*graph.tensors, new))
    if is_input:
        return with_ops(replace(changed, inputs=tuple(ends)), (op, *graph.ops))
    return with_ops(replace(changed, outputs=tuple(ends)), (*graph.ops, op))


def _errors(
    floats: Model, made: Model, samples: Sequence[Sample]
) -> tuple[EngineName, tuple[OutputError, ...]]:
    """Each output of both networks on the same samples."""
    old, new = floats.graph, made.graph
    wanted = reference_tensors(floats.source, samples, old.outputs, engine="litert")
    ends = list(zip(new.inputs, old.inputs, strict=True))
    given = [{n: _stored(new.tensors[n], sample[o]) for n, o in ends} for sample in samples]
    found = reference(made, given, new.outputs)
    errors = tuple(
        _error(
            old.tensors[o],
            np.stack([sample[o] for sample in wanted.samples]),
            np.stack([_real(new.tensors[n], sample[n]) for sample in found.samples]),
        )
        for o, n in zip(old.outputs, new.outputs, strict=True)
    )
    return found.engine, errors


def _error(tensor: Tensor, want: Array, got: Array) -> OutputError:
    if not want.size:
        return OutputError(tensor.name, tensor.shape, None, None)
    found = distance_of(got.reshape(want.shape), want)
    return OutputError(tensor.name, tensor.shape, found.snr_db, found.same_top1)


def _stored(tensor: Tensor, real: Array) -> Array:
    """Real numbers as the tensor stores them."""
    if tensor.quant is None or real.dtype.kind != "f":
        return real
    kind = np.dtype(tensor.dtype.name.lower())
    limits = np.iinfo(kind)
    q = np.rint(real / np.float64(tensor.quant.scale[0])) + tensor.quant.zero_point[0]
    return q.clip(limits.min, limits.max).astype(kind)


def _real(tensor: Tensor, stored: Array) -> Array:
    if tensor.quant is None or stored.dtype.kind == "f":
        return stored
    real: Array = (stored.astype(np.float64) - tensor.quant.zero_point[0]) * tensor.quant.scale[0]
    return real
