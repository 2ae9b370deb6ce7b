"""Fields of results as keys of documents and as columns of tables.

Why by name: where a figure of a result is a key of a document, both have one name, so it is said once.
The schemas say which keys there are; tests hold every document against them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Those fields of `value` by their names; a tuple becomes a list, as JSON has it."""
    found = {name: getattr(value, name) for name in names}
    return {name: [*each] if isinstance(each, tuple) else each for name, each in found.items()}


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of names; lists in a cell are separated by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([" ".join(map(str, c)) if isinstance(c, list | tuple) else c for c in row])
    return out.getvalue()
