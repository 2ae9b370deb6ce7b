"""Read a .tflite file into frozen values.

Why not the schema's object API: it trusts every length in the file, so that a damaged file can hang
or exhaust it. Here the schema's accessors are used with a table that checks each vector against the
file before anything is read from it, and a budget that no honest file exceeds.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import ai_edge_litert.schema_py_generated as schema
import flatbuffers

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Metadata, Model, Op, Option, Quant, Signature, Tensor
from lowtide.ir.soundness import verify

_IDENTIFIER: Final = b"TFL3"
_REMEDY: Final = "pass a .tflite file as a converter wrote it; this one may be cut off or damaged"

# What a damaged file makes the accessors raise.
_DAMAGE: Final = (
    struct.error,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    AttributeError,
)


class _DamagedError(ValueError):
    """The file contradicts itself."""


class _CheckedTable(flatbuffers.table.Table):  # type: ignore[misc]  # the library has no types
    """A flatbuffers table that believes no vector length.

    `budget` is shared by all tables of a file and counts vector elements; files may share vectors,
    so it allows each byte of the file to be read several times, but not without end.
    """

    __slots__ = ("budget",)

    def __init__(self, table: Any, budget: list[int]) -> None:
        super().__init__(table.Bytes, table.Pos)
        self.budget = budget

    def VectorLen(self, off: int) -> int:  # noqa: N802  # overrides the library's method
        length = int(super().VectorLen(off))
        if self.Vector(off) + length > len(self.Bytes):
            raise _DamagedError(f"a list of {length} elements runs past the end of the file")
        self.budget[0] -= length
        if self.budget[0] < 0:
            raise _DamagedError("its lists overlap each other")
        return length

    def String(self, off: int) -> bytes:  # noqa: N802  # overrides the library's method
        start = off + int(self.Get(flatbuffers.number_types.UOffsetTFlags, off))
        length = int(self.Get(flatbuffers.number_types.UOffsetTFlags, start))
        if start + 4 + length > len(self.Bytes):
            raise _DamagedError("a text runs past the end of the file")
        self.budget[0] -= length
        if self.budget[0] < 0:
            raise _DamagedError("its lists overlap each other")
        return bytes(super().String(off))


class _Reader:
    """Wraps accessor objects of one file, so that each gets a checked table."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.contents: dict[int, bytes | None] = {}
        self.budget = [8 * len(source) + 65536]

    def check(self, accessor: Any) -> Any:
        if accessor is not None:
            accessor._tab = _CheckedTable(accessor._tab, self.budget)
        return accessor

    def list(self, length: Callable[[], int], item: Callable[[int], Any]) -> Iterator[Any]:
        for i in range(length()):
            yield self.check(item(i))


def load(path: str | Path) -> Model:
    """Read and verify the model at `path`.

    Raises ModelError if the file cannot be read, is no .tflite file, is damaged, or breaks a rule
    of `lowtide.ir.soundness`.
    """
    try:
        source = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ModelError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}",
            "check the path, or name a built-in network as zoo:NAME (see `lowtide zoo`)",
        ) from None
    return parse(source, path=str(path))


def parse(source: bytes, *, path: str = "<bytes>") -> Model:
    """Decode and verify the bytes of a .tflite file. Raises ModelError as `load` does."""
    if len(source) < 8 or source[4:8] != _IDENTIFIER:
        what = "is empty" if not source else "is not a .tflite file (no TFL3 identifier)"
        raise ModelError(f"{path} {what}", _REMEDY)
    try:
        return _model(_Reader(source), path)
    except ModelError as error:
        raise ModelError(f"{path}: {_shown(error.cause)}", error.remedy) from None
    except _DamagedError as error:
        raise ModelError(f"{path} is damaged: {error}", _REMEDY) from None
    except _DAMAGE as error:
        detail = str(error) or type(error).__name__
        raise ModelError(f"{path} is damaged: {detail.splitlines()[0][:120]}", _REMEDY) from None


def _model(reader: _Reader, path: str) -> Model:
    model = reader.check(schema.Model.GetRootAs(reader.source, 0))
    if model.Version() != 3:
        raise ModelError(f"schema version {model.Version()} is not 3", _REMEDY)
    subgraphs = list(reader.list(model.SubgraphsLength, model.Subgraphs))
    if not subgraphs:
        raise ModelError("the file holds no subgraph", _REMEDY)
    buffers = list(reader.list(model.BuffersLength, model.Buffers))
    codes = [_code(code) for code in reader.list(model.OperatorCodesLength, model.OperatorCodes)]
    if subgraphs[0].OperatorsLength() and not codes:
        raise _DamagedError("it has operators but names none")
    main = subgraphs[0]
    ops = tuple(
        _op(reader, codes, i, op)
        for i, op in enumerate(reader.list(main.OperatorsLength, main.Operators))
    )
    graph = verify(
        Graph(
            name=_text(main.Name()),
            tensors=tuple(
                _tensor(reader, buffers, i, tensor)
                for i, tensor in enumerate(reader.list(main.TensorsLength, main.Tensors))
            ),
            ops=ops,
            inputs=_ints(main, "Inputs"),
            outputs=_ints(main, "Outputs"),
            initial=_initial(reader, codes, buffers, subgraphs, ops),
        )
    )
    return Model(
        path=path,
        graph=graph,
        source=reader.source,
        description=_text(model.Description()),
        metadata=tuple(
            Metadata(_text(entry.Name()), _contents(reader, buffers, entry.Buffer()) or b"")
            for entry in reader.list(model.MetadataLength, model.Metadata)
        ),
        signatures=tuple(
            _signature(reader, entry)
            for entry in reader.list(model.SignatureDefsLength, model.SignatureDefs)
        ),
        subgraph_tensors=tuple(subgraph.TensorsLength() for subgraph in subgraphs),
    )


def _initial(
    reader: _Reader,
    codes: list[tuple[str, str | None, int]],
    buffers: list[Any],
    subgraphs: list[Any],
    ops: tuple[Op, ...],
) -> dict[str, bytes] | None:
    """What CALL_ONCE's subgraphs assign: variable name -> contents; None if they do more than that."""
    values: dict[str, bytes] = {}
    for index in [op.options.get("init_subgraph_index") for op in ops if op.type == "CALL_ONCE"]:
        if not isinstance(index, int) or not 0 < index < len(subgraphs):
            return None
        init = subgraphs[index]
        tensors = list(reader.list(init.TensorsLength, init.Tensors))
        names: dict[int, str] = {}
        for number, raw in enumerate(reader.list(init.OperatorsLength, init.Operators)):
            op = _op(reader, codes, number, raw)
            if op.type == "VAR_HANDLE" and len(op.outputs) == 1:
                names[op.outputs[0]] = str(op.options.get("shared_name") or "")
                continue
            known = op.type == "ASSIGN_VARIABLE" and len(op.inputs) == 2 and op.inputs[0] in names
            if not known or not 0 <= op.inputs[1] < len(tensors):
                return None
            data = _contents(reader, buffers, tensors[op.inputs[1]].Buffer())
            if data is None:
                return None
            values[names[op.inputs[0]]] = data
    return values


def _tensor(reader: _Reader, buffers: list[Any], index: int, tensor: Any) -> Tensor:
    if tensor.ExternalBuffer():
        raise ModelError(
            f"tensor {index} keeps its contents in another file",
            "export the model as one file",
        )
    variable = bool(tensor.IsVariable())
    dtype = _dtypes().get(tensor.Type())
    if dtype is None:
        raise ModelError(
            f"tensor {index} has element type {tensor.Type()}, which the schema does not name",
            "update the ai-edge-litert package, or export the model with another converter version",
        )
    if tensor.ShapeLength() > 64:
        raise _DamagedError(f"tensor {index} has {tensor.ShapeLength()} dimensions")
    return Tensor(
        id=index,
        name=_text(tensor.Name()),
        shape=_ints(tensor, "Shape"),
        dtype=dtype,
        quant=_quant(reader.check(tensor.Quantization())),
        data=None if variable else _contents(reader, buffers, tensor.Buffer()),
        buffer=tensor.Buffer(),
        is_variable=variable,
        is_sparse=tensor.Sparsity() is not None,
    )


def _contents(reader: _Reader, buffers: list[Any], index: int) -> bytes | None:
    """The bytes of buffer `index`; None where it is empty (buffer 0 always is, by convention)."""
    if not 0 <= index < len(buffers):
        raise _DamagedError(f"buffer {index} does not exist (it has {len(buffers)})")
    if index in reader.contents:
        return reader.contents[index]
    buffer = buffers[index]
    if buffer.Offset() > 1:  # data outside the flatbuffer, for files over 2 GiB; 1 is a placeholder
        start, size = buffer.Offset(), buffer.Size()
        if start + size > len(reader.source):
            raise _DamagedError(f"buffer {index} runs past the end of the file")
        return reader.source[start : start + size] or None
    reader.contents[index] = None if buffer.DataIsNone() else bytes(buffer.DataAsNumpy()) or None
    return reader.contents[index]


def _quant(quant: Any) -> Quant | None:
    if quant is None or quant.ScaleLength() == 0:
        return None
    scale = tuple(float(x) for x in quant.ScaleAsNumpy())
    zero = _ints(quant, "ZeroPoint") or (0,) * len(scale)
    if len(zero) != len(scale):
        if len(zero) != 1:
            raise _DamagedError(f"{len(scale)} scales meet {len(zero)} zero points")
        zero *= len(scale)
    return Quant(scale, zero, int(quant.QuantizedDimension()))


def _code(code: Any) -> tuple[str, str | None, int]:
    """(type, custom code, version). Codes up to 127 stand in the old field, for old readers."""
    builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    custom = _text(code.CustomCode()) or None
    return _op_names().get(builtin, f"BUILTIN_{builtin}"), custom, int(code.Version())


def _op(reader: _Reader, codes: list[tuple[str, str | None, int]], index: int, op: Any) -> Op:
    if not 0 <= op.OpcodeIndex() < len(codes):
        raise _DamagedError(f"operator {index} is of kind {op.OpcodeIndex()}, of {len(codes)}")
    kind, custom, version = codes[op.OpcodeIndex()]
    return Op(
        id=index,
        type=kind,
        inputs=_ints(op, "Inputs"),
        outputs=_ints(op, "Outputs"),
        options=_options(reader, op),
        custom=custom if kind == "CUSTOM" else None,
        version=version,
        intermediates=_ints(op, "Intermediates"),
    )


def _options(reader: _Reader, op: Any) -> dict[str, Option]:
    """The operator's builtin options as {snake_case name: value}; {} where it has none."""
    first, second = op.BuiltinOptionsType(), op.BuiltinOptions2Type()
    if first:
        name, table = _option_names("BuiltinOptions").get(first), op.BuiltinOptions()
    elif second:
        name, table = _option_names("BuiltinOptions2").get(second), op.BuiltinOptions2()
    else:
        return {}
    if name is None or table is None:  # options of a schema newer than the installed one
        return {}
    accessor = getattr(schema, name)()
    accessor._tab = _CheckedTable(table, reader.budget)
    unpacked = getattr(schema, name + "T").InitFromObj(accessor)
    return {_snake(key): _option(value) for key, value in vars(unpacked).items()}


def _option(value: Any) -> Option:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return tuple(x if isinstance(x, int | float) else str(x) for x in value)  # type: ignore[return-value]  # str only in options that no kernel of ours reads
    return str(type(value).__name__)


def _signature(reader: _Reader, entry: Any) -> Signature:
    def pairs(length: Callable[[], int], item: Callable[[int], Any]) -> tuple[tuple[str, int], ...]:
        return tuple((_text(t.Name()), int(t.TensorIndex())) for t in reader.list(length, item))

    return Signature(
        key=_text(entry.SignatureKey()),
        subgraph=int(entry.SubgraphIndex()),
        inputs=pairs(entry.InputsLength, entry.Inputs),
        outputs=pairs(entry.OutputsLength, entry.Outputs),
    )


def _shown(text: str) -> str:
    """A message that quotes the file, fit for a terminal."""
    text = "".join(c if c.isprintable() else chr(0xFFFD) for c in text)
    return text if len(text) <= 500 else text[:497] + "..."


def _ints(accessor: Any, name: str) -> tuple[int, ...]:
    """The vector field `name` as a tuple; () where it is absent."""
    if getattr(accessor, name + "Length")() == 0:
        return ()
    return tuple(getattr(accessor, name + "AsNumpy")().tolist())


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


@lru_cache(maxsize=4096)
def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _constants(cls: type) -> dict[int, str]:
    return {v: k for k, v in vars(cls).items() if isinstance(v, int) and not k.startswith("_")}


@cache
def _dtypes() -> dict[int, DType]:
    return {
        code: DType[name]
        for code, name in _constants(schema.TensorType).items()
        if name in DType.__members__
    }


@cache
def _op_names() -> dict[int, str]:
    return _constants(schema.BuiltinOperator)


@cache
def _option_names(union: str) -> dict[int, str]:
    return _constants(getattr(schema, union))
