"""Our schema is the file format's: enumerations, unions, fields, slots, types and defaults are those of
the module that FlatBuffers generates; and what we pack, that module reads.

Why through the module's accessors: they say in which slot of a table they look, and as what.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import pytest

from lowtide.tflite.pack import pack
from lowtide.tflite.schema import SCALARS, Field, schema
from lowtide.tflite.table import File, Table

generated = pytest.importorskip("ai_edge_litert.schema_py_generated")

KINDS = {
    "bool": "Bool",
    "byte": "Int8",
    "ubyte": "Uint8",
    "short": "Int16",
    "ushort": "Uint16",
    "int": "Int32",
    "uint": "Uint32",
    "long": "Int64",
    "ulong": "Uint64",
    "float": "Float32",
    "double": "Float64",
}


def camel(name: str) -> str:
    """The accessor of the field `name`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def classes() -> dict[str, Any]:
    return {k: v for k, v in vars(generated).items() if inspect.isclass(v)}


def is_table(cls: Any) -> bool:
    return hasattr(cls, "GetRootAs")


def test_enumerations_and_unions() -> None:
    theirs = {
        name: {value: key for key, value in vars(cls).items() if isinstance(value, int)}
        for name, cls in classes().items()
        if not is_table(cls) and not hasattr(cls, "Pack")
    }
    found = schema()
    assert {**found.enums, **found.unions} == {
        name: values for name, values in theirs.items() if values
    }
    assert not found.enums.keys() & found.unions.keys()


def test_the_same_tables() -> None:
    assert set(schema().tables) == {name for name, cls in classes().items() if is_table(cls)}


@pytest.mark.parametrize("name", schema().tables)
def test_fields(name: str) -> None:
    cls = getattr(generated, name)
    fields = schema().tables[name]
    accessors = {
        key
        for key, value in vars(cls).items()
        if inspect.isfunction(value) and "_tab.Offset(" in inspect.getsource(value)
    }
    derived = {a + end for a in accessors for end in ("Length", "AsNumpy", "IsNone")}
    assert {camel(field) for field in fields} == accessors - derived
    for field in fields.values():
        source = inspect.getsource(getattr(cls, camel(field.name)))
        assert f"_tab.Offset({4 + 2 * field.slot})" in source, field.name
        check_type(field, source)


def check_type(field: Field, source: str) -> None:
    """The accessor reads what we say the field is."""
    assert ("(self, j)" in source) == field.is_vector, field.name
    if field.type in SCALARS:
        assert f"number_types.{KINDS[field.type]}Flags" in source, field.name
        if not field.is_vector:
            (default,) = re.findall(r"return (\S+)\s*$", source)
            assert {"True": 1, "False": 0}.get(default, default) in (
                field.default,
                str(field.default),
                f"{field.default}.0",
            ), field.name
    elif field.type == "string":
        assert "_tab.String(" in source, field.name
    elif field.type in schema().unions:
        assert "_tab.Union(" in source, field.name
    else:
        assert f"obj = {field.type}()" in source, field.name


def value(field: Field, index: int) -> Any:
    """Something other than the default; unions are left out."""
    if field.type == "string":
        one: Any = f"text {index}"
    elif field.type == "bool":
        one = not field.default
    elif field.type in SCALARS:
        one = 3 + index % 50
    else:
        one = {}
    return [one] * (index % 4) if field.is_vector else one


@pytest.mark.parametrize("name", schema().tables)
def test_a_table_that_we_pack_is_read_by_both(name: str) -> None:
    """Every field set, to the values of ours: by our reader, and by the generated one."""
    fields = {
        key: field
        for key, field in schema().tables[name].items()
        if field.type not in schema().unions
    }
    fields = {key: field for key, field in fields.items() if not key.endswith("_type")} or fields
    values = {key: value(field, at) for at, (key, field) in enumerate(fields.items())}
    values = {
        key: bytes(v) if fields[key].type == "ubyte" and fields[key].is_vector else v
        for key, v in values.items()
    }
    source = pack(values, name)
    ours = Table(File(source), File(source).target(0), name)
    theirs = getattr(generated, f"{name}T").InitFromPackedBuf(source, 0)
    for key, field in fields.items():
        got, other = ours.get(key), getattr(theirs, attribute(theirs, key))
        want = values[key]
        if field.type in SCALARS or field.type == "string":
            assert plain(got) == plain(want), key
            assert plain(other) == plain(want), key
        else:
            assert (len(got) if field.is_vector else 1) == (len(want) if field.is_vector else 1)
            assert other is not None


def attribute(table: Any, key: str) -> str:
    """What the generated object calls the field."""
    wanted = key.replace("_", "").lower()
    names: Iterable[str] = vars(table)
    return next(name for name in names if name.lower().rstrip("_") == wanted)


def plain(found: Any) -> Any:
    if isinstance(found, bytes):
        return found.decode() if found.startswith(b"text") else list(found)
    if hasattr(found, "tolist"):
        found = found.tolist()
    if isinstance(found, list | tuple):
        return [plain(x) for x in found]
    return found


def test_a_union_and_a_default() -> None:
    source = pack(
        {
            "version": 3,
            "subgraphs": [
                {
                    "operators": [
                        {"builtin_options": ("SoftmaxOptions", {"beta": 0.5}), "inputs": [1, -1]},
                        {"builtin_options_2": ("DilateOptions", {}), "debug_metadata_index": -1},
                    ]
                }
            ],
            "buffers": [{}, {"data": b"abc"}, {"data": b"defgh"}],
        }
    )
    model = generated.ModelT.InitFromPackedBuf(source, 0)
    first, second = model.subgraphs[0].operators
    assert first.builtinOptionsType == generated.BuiltinOptions.SoftmaxOptions
    assert first.builtinOptions.beta == 0.5
    assert first.inputs.tolist() == [1, -1]
    assert (first.builtinOptions2Type, first.debugMetadataIndex) == (0, -1)
    assert second.builtinOptions2Type == generated.BuiltinOptions2.DilateOptions
    assert second.inputs is None
    assert [source.index(data) % 16 for data in (b"abc", b"defgh")] == [0, 0]


def test_what_the_schema_does_not_have() -> None:
    with pytest.raises(KeyError):
        pack({"versoin": 3})
    with pytest.raises(KeyError):
        pack({"subgraphs": [{"operators": [{"builtin_options": ("DilateOptions", {})}]}]})


def test_another_writer_s_table_with_fewer_and_more_fields() -> None:
    """Fields that a file leaves out have their defaults; those it has beyond the schema are ignored."""
    for fields in (1, 40):
        builder = generated.flatbuffers.Builder(64)
        builder.StartObject(fields)
        builder.PrependInt8Slot(0, 1, 0)
        if fields > 30:
            builder.PrependInt32Slot(35, 7, 0)
        builder.Finish(builder.EndObject())
        source = bytes(builder.Output())
        table = Table(File(source), File(source).target(0), "Conv2DOptions")
        assert [table.get(name) for name in table.fields] == [1, 0, 0, 0, 1, 1, 0]
