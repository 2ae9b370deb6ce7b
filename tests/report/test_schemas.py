"""The schemas of JSON documents: one for each that there is, complete, strict, with a word on each key.

That documents are as they say is held in `tests/conftest.py`, for all that tests print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import lowtide
from lowtide.report import data

FOLDER = Path(lowtide.__file__).parent
NAMES = sorted(
    f"lowtide.{path.stem[::-1].replace('-', '/', 1)[::-1]}"
    for path in (FOLDER / "report" / "schemas").glob("*.json")
)
NO_DOCUMENTS = {"lowtide.figures/1"}


def objects(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema that is an object, with where it is."""
    if "properties" in schema:
        yield path, schema
        for key, inner in schema["properties"].items():
            yield from objects(inner, f"{path}/{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from objects(schema[key], f"{path}/{key}")
    for name, inner in schema.get("$defs", {}).items():
        yield from objects(inner, f"{path}/{name}")


def test_every_document_has_a_schema() -> None:
    named = {
        name
        for path in FOLDER.rglob("*.py")
        for name in re.findall(r'"(lowtide\.[\w-]+/\d)"', path.read_text("utf-8"))
    }
    assert named - NO_DOCUMENTS == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_strict_and_told(name: str) -> None:
    schema = data.schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == name
    for path, part in objects(schema):
        assert part["additionalProperties"] is False, path
        assert all(inner.get("description") for inner in part["properties"].values()), path


def test_what_schemas_share_is_the_same_in_each() -> None:
    """Each file has all that it refers to, as a reader may take it alone."""
    shared: dict[str, Any] = {}
    for name in NAMES:
        schema = data.schema_of(name)
        own = schema.get("$defs", {})
        assert set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema))) == set(own), name
        assert json.dumps(schema).count('"$ref"') == json.dumps(schema).count('"#/$defs/'), name
        for part, meaning in own.items():
            assert shared.setdefault(part, meaning) == meaning, f"{name}: {part}"


def test_a_document_that_is_wrong_is_refused() -> None:
    right = {"schema": "lowtide.zoo/1", "networks": [{"name": "a", "description": "b"}]}
    assert json.loads(data.to_json(right)) == right
    for wrong in (
        {**right, "more": 1},
        {"schema": "lowtide.zoo/1"},
        {**right, "networks": [{"name": 1, "description": "b"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            data.to_json(wrong)
