"""The types in C of the fields of params, from the headers of the runtime (kernels/include).

Why: a number that its field can't hold is another one once C is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from lowtide.emit.runtime import kernel_files

BITS = {f"{u}int{bits}_t": bits if u else -bits for u in ("", "u") for bits in (8, 16, 32, 64)}
"""Bits of C's integers; of signed ones, negative."""

_STRUCT = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_PLAIN = re.compile(r"(?:const )?(\w+) (\w+(?:, \w+)*)")


@cache
def bits_of(ctype: str) -> Mapping[str, int]:
    """The integers of a struct by name, those of structs in it behind a point, with their bits; empty
    if the runtime has no such struct."""
    return dict(_fields(ctype))


def _fields(ctype: str) -> Iterator[tuple[str, int]]:
    for line in _structs().get(ctype, "").split(";"):
        found = _PLAIN.fullmatch(line.strip())
        for name in found[2].split(", ") if found else ():
            assert found is not None
            if found[1] in BITS:
                yield name, BITS[found[1]]
            yield from ((f"{name}.{inner}", bits) for inner, bits in bits_of(found[1]).items())


@cache
def _structs() -> Mapping[str, str]:
    """Struct -> what is between its braces."""
    texts = (_COMMENT.sub("", text) for text in kernel_files().values())
    return {name: body for text in texts for body, name in _STRUCT.findall(text)}
