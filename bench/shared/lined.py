"""JSON that a person can read and compare: what benches measure, and the compiler reads.

Why JSON: every compilation reads these files, which takes Python a twentieth of the time for TOML.
"""

from __future__ import annotations

import json
from collections.abc import Mapping


def lined(document: Mapping[str, object], depth: int) -> str:
    """The text of a document; each entry of its objects down to that depth, 1 being its own, begins a
    line."""
    return _lined(document, depth, "") + "\n"


def _lined(value: object, depth: int, indent: str) -> str:
    if depth == 0 or not isinstance(value, Mapping) or not value:
        return json.dumps(value)
    inner = indent + " "
    entries = (
        f"{inner}{json.dumps(key)}: {_lined(of, depth - 1, inner)}" for key, of in value.items()
    )
    return "{\n" + ",\n".join(entries) + "\n" + indent + "}"
