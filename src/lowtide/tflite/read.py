"""Read a .tflite file into frozen values.

Nothing in a file is believed: `table` checks what it reads, `ir.soundness` what it means.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Metadata, Model, Op, Option, Quant, Signature, Tensor
from lowtide.ir.relations import check_shapes
from lowtide.ir.signal import SIGNAL
from lowtide.ir.soundness import BRANCHES, verify
from lowtide.ir.windows import normalise_windows
from lowtide.sizes import MOST_FILE
from lowtide.tflite.flexbuffers import unpack_map
from lowtide.tflite.foreign import contents
from lowtide.tflite.options import options_of
from lowtide.tflite.schema import schema
from lowtide.tflite.table import REMEDY, DamagedError, File, Table

_IDENTIFIER: Final = b"TFL3"
_MOST_DIMENSIONS: Final = 32
_DEEPEST: Final = 4
"""How deep IF and WHILE may stand in others."""


def load(path: str | Path, *, max_file: int = MOST_FILE) -> Model:
    """Read and verify the model at `path`, a .tflite file or a C source with one as an array.

    Raises ModelError if the file cannot be read, has more than `max_file` bytes, is no .tflite file, is
    damaged, or breaks a rule of `lowtide.ir.soundness`.
    """
    try:
        source = contents(Path(path), max_file)
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
        raise ModelError(f"{path} {what}", REMEDY)
    try:
        return _model(source, path)
    except DamagedError as error:
        raise ModelError(f"{path} is damaged: {error.what}", error.remedy) from None
    except ModelError as error:
        raise ModelError(f"{path}: {_shown(error.cause)}", error.remedy) from None


class _Buffers:
    """The file's buffers, each read once however many tensors share it."""

    def __init__(self, source: bytes, tables: tuple[Table, ...]) -> None:
        self.source, self.tables = source, tables
        self.known: dict[int, bytes | None] = {}

    def contents(self, index: int) -> bytes | None:
        """The bytes of buffer `index`; None where it is empty (buffer 0 always is, by convention)."""
        if not 0 <= index < len(self.tables):
            raise DamagedError(f"buffer {index} does not exist (it has {len(self.tables)})")
        if index not in self.known:
            self.known[index] = self._read(index)
        return self.known[index]

    def _read(self, index: int) -> bytes | None:
        buffer = self.tables[index]
        start, size = buffer.integer("offset"), buffer.integer("size")
        if start <= 1:  # 1 is a placeholder
            return buffer.data("data")
        # Data outside the flatbuffer, for files over 2 GiB.
        if start + size > len(self.source):
            raise DamagedError(f"buffer {index} runs past the end of the file")
        return self.source[start : start + size] or None


_Codes = list[tuple[str, str | None, int]]


def _model(source: bytes, path: str) -> Model:
    model = File(source).root
    if model.integer("version") != 3:
        raise ModelError(f"schema version {model.integer('version')} is not 3", REMEDY)
    subgraphs = model.tables("subgraphs")
    if not subgraphs:
        raise ModelError("the file holds no subgraph", REMEDY)
    buffers = _Buffers(source, model.tables("buffers"))
    codes = [_code(code) for code in model.tables("operator_codes")]
    main = subgraphs[0]
    operators = main.tables("operators")
    if operators and not codes:
        raise DamagedError("it has operators but no operator codes")
    ops = tuple(_op(codes, i, op) for i, op in enumerate(operators))
    graph = _sound(
        Graph(
            name=main.text("name"),
            tensors=tuple(
                _tensor(buffers, i, tensor) for i, tensor in enumerate(main.tables("tensors"))
            ),
            ops=ops,
            inputs=main.integers("inputs"),
            outputs=main.integers("outputs"),
            initial=_initial(codes, buffers, subgraphs, ops),
            subgraphs=_branches(codes, buffers, subgraphs, ops, (0,)),
        )
    )
    return Model(
        path=path,
        graph=graph,
        source=source,
        description=model.text("description"),
        metadata=tuple(
            Metadata(entry.text("name"), buffers.contents(entry.integer("buffer")) or b"")
            for entry in model.tables("metadata")
        ),
        signatures=tuple(_signature(entry) for entry in model.tables("signature_defs")),
        subgraph_tensors=tuple(subgraph.count("tensors") for subgraph in subgraphs),
    )


def _sound(graph: Graph, *, main: bool = True) -> Graph:
    """`graph` with its windows, of which all holds that later stages rely on; else raises ModelError."""
    return check_shapes(normalise_windows(verify(graph, main=main)))


def _initial(
    codes: _Codes, buffers: _Buffers, subgraphs: tuple[Table, ...], ops: tuple[Op, ...]
) -> dict[str, bytes] | None:
    """What CALL_ONCE's subgraphs assign: variable name -> contents; None if they do more than that."""
    values: dict[str, bytes] = {}
    for index in [op.options.get("init_subgraph_index") for op in ops if op.type == "CALL_ONCE"]:
        if not isinstance(index, int) or not 0 < index < len(subgraphs):
            return None
        init = subgraphs[index]
        tensors = init.tables("tensors")
        names: dict[int, str] = {}
        for number, raw in enumerate(init.tables("operators")):
            op = _op(codes, number, raw)
            if op.type == "VAR_HANDLE" and len(op.outputs) == 1:
                names[op.outputs[0]] = str(op.options.get("shared_name") or "")
                continue
            known = op.type == "ASSIGN_VARIABLE" and len(op.inputs) == 2 and op.inputs[0] in names
            if not known or not 0 <= op.inputs[1] < len(tensors):
                return None
            data = buffers.contents(tensors[op.inputs[1]].integer("buffer"))
            if data is None:
                return None
            values[names[op.inputs[0]]] = data
    return values


def _branches(
    codes: _Codes,
    buffers: _Buffers,
    subgraphs: tuple[Table, ...],
    ops: tuple[Op, ...],
    within: tuple[int, ...],
) -> dict[int, Graph]:
    """The subgraphs that IF and WHILE among `ops` run, but for those `within` which they stand."""
    found: dict[int, Graph] = {}
    for index in (op.options.get(name) for op in ops for name in BRANCHES.get(op.type, ())):
        known = isinstance(index, int) and 0 <= index < len(subgraphs)
        if not isinstance(index, int) or not known or index in within or index in found:
            continue
        raw = subgraphs[index]
        inner = tuple(_op(codes, i, op) for i, op in enumerate(raw.tables("operators")))
        deeper = (*within, index)
        found[index] = _sound(
            Graph(
                name=raw.text("name"),
                tensors=tuple(_tensor(buffers, i, t) for i, t in enumerate(raw.tables("tensors"))),
                ops=inner,
                inputs=raw.integers("inputs"),
                outputs=raw.integers("outputs"),
                subgraphs=_branches(codes, buffers, subgraphs, inner, deeper)
                if len(deeper) <= _DEEPEST
                else {},
            ),
            main=False,
        )
    return found


def _tensor(buffers: _Buffers, index: int, tensor: Table) -> Tensor:
    if tensor.integer("external_buffer"):
        raise ModelError(
            f"tensor {index} has its contents in another file",
            "export the model as one file",
        )
    variable = bool(tensor.get("is_variable"))
    dtype = _dtypes().get(tensor.integer("type"))
    if dtype is None:
        raise ModelError(
            f"tensor {index} has element type {tensor.integer('type')}, which the schema does not "
            "name",
            "update lowtide, or export the model with another converter version",
        )
    shape = tensor.integers("shape")
    if len(shape) > _MOST_DIMENSIONS:
        raise DamagedError(f"tensor {index} has {len(shape)} dimensions")
    return Tensor(
        id=index,
        name=tensor.text("name"),
        shape=shape,
        dtype=dtype,
        quant=_quant(tensor.table("quantization")),
        data=None if variable else buffers.contents(tensor.integer("buffer")),
        buffer=tensor.integer("buffer"),
        is_variable=variable,
        is_sparse=tensor.table("sparsity") is not None,
    )


def _quant(quant: Table | None) -> Quant | None:
    scale = quant.floats("scale") if quant is not None else ()
    if quant is None or not scale:
        return None
    zero = quant.integers("zero_point") or (0,) * len(scale)
    if len(zero) != len(scale):
        if len(zero) != 1:
            raise DamagedError(f"it has {len(scale)} scales, but {len(zero)} zero points")
        zero *= len(scale)
    return Quant(scale, zero, quant.integer("quantized_dimension"))


def _code(code: Table) -> tuple[str, str | None, int]:
    """(type, custom code, version). Codes up to 127 stand in the old field, for old readers."""
    builtin = max(code.integer("builtin_code"), code.integer("deprecated_builtin_code"))
    names = schema().enums["BuiltinOperator"]
    custom = code.text("custom_code") or None
    return names.get(builtin, f"BUILTIN_{builtin}"), custom, code.integer("version")


def _op(codes: _Codes, index: int, op: Table) -> Op:
    code = op.integer("opcode_index")
    if code >= len(codes):
        raise DamagedError(f"operator {index} uses operator code {code}, of {len(codes)}")
    kind, custom, version = codes[code]
    return Op(
        id=index,
        type=kind,
        inputs=op.integers("inputs"),
        outputs=op.integers("outputs"),
        options=_signal_options(op) if custom in SIGNAL else _options(op, kind),
        custom=custom if kind == "CUSTOM" else None,
        version=version,
        intermediates=op.integers("intermediates"),
    )


def _options(op: Table, kind: str) -> dict[str, Option]:
    """The operator's builtin options; {} where it has none, those of another kind of operator, which the
    interpreters ignore too, or ones newer than the schema."""
    first = op.integer("builtin_options_type") != 0
    options = op.table("builtin_options" if first else "builtin_options_2")
    if options is None or options.kind != options_of(kind, options.kind):
        return {}
    return {name: _option(options.get(name)) for name in options.fields}


def _signal_options(op: Table) -> dict[str, Option]:
    """What a signal operator of TFLM says; {} where it says nothing that can be read."""
    return {**(unpack_map(op.data("custom_options") or b"") or {})}


def _option(value: Any) -> Option:
    return tuple(value) if isinstance(value, bytes) else value


def _signature(entry: Table) -> Signature:
    def pairs(name: str) -> tuple[tuple[str, int], ...]:
        return tuple((t.text("name"), t.integer("tensor_index")) for t in entry.tables(name))

    return Signature(
        key=entry.text("signature_key"),
        subgraph=entry.integer("subgraph_index"),
        inputs=pairs("inputs"),
        outputs=pairs("outputs"),
    )


def _shown(text: str) -> str:
    """A message that quotes the file, fit for a terminal."""
    text = "".join(c if c.isprintable() else chr(0xFFFD) for c in text)
    return text if len(text) <= 500 else text[:497] + "..."


@cache
def _dtypes() -> dict[int, DType]:
    names = schema().enums["TensorType"].items()
    return {code: DType[name] for code, name in names if name in DType.__members__}
