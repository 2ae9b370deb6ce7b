"""The kinds of files that lowtide writes, told by how a file begins.

Why: a file that a command could not have written is somebody's own, and is not replaced (`files.py`).
Whether a file is ours is asked of its contents alone: no list of what was written has to be kept, and
copies and renamed files are known as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

HEAD: Final = 1 << 20
"""So many bytes of a file, from its first on, tell its kind."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of files, `what` a message calls one; `key` tells it from others that are called so."""

    what: str
    key: str = ""


TFLITE: Final = Kind("a .tflite file")
PICTURE: Final = Kind("a picture that lowtide drew")
PAGE: Final = Kind("a page that lowtide made")
JUNIT: Final = Kind("a verdict of `lowtide check`")
GENERATED: Final = Kind("a file that lowtide generated")


def document(schema: str) -> Kind:
    """JSON documents of a schema such as "lowtide.plan/1", in whatever version."""
    return Kind(f"a JSON document of {schema.partition('/')[0]}")


def table(columns: Iterable[str]) -> Kind:
    """CSV tables with these columns."""
    return Kind("a table of this kind", ",".join(columns))


_DOCUMENT: Final = re.compile(rb'\s*\{\s*"schema":\s*"(lowtide\.[a-z-]+)/[0-9]+"')
_PAGE: Final = re.compile(rb"lowtide&#x27;s report</title>|<title>lowtide fit</title>")
_SPDX: Final = rb"(?:/\*|#|;) SPDX-License-Identifier: [^\n]*\n"
# What is generated says so in the second line, below its licence. The runtime's files name themselves.
_GENERATED: Final = re.compile(_SPDX + rb"(?:/\*|#|;) (?:\S+: g|G)enerated by lowtide[.;]")
_RUNTIME: Final = re.compile(_SPDX + rb"/\* ((?:lt_\w+|lowtide)\.[ch]): ")
# Where there is no place for a comment, and in texts, a sentence that nobody else has reason to write.
_DESCRIBED: Final = re.compile(
    rb"(?:C99 code of (?:one network|networks that share one arena)|"
    rb"The neural network \w+ as C99 that runs in little RAM), made by lowtide\."
)


def kind_of(name: str, head: bytes) -> Kind | None:
    """The kind of the file `name` that begins with `head`; None if lowtide writes no such files."""
    if head[4:8] == b"TFL3":
        return TFLITE
    head = head.replace(b"\r\n", b"\n")  # as some tools check files out on Windows
    match PurePath(name).suffix.lower():
        case ".png" if head.startswith(b"\x89PNG\n") and b"Software\0lowtide" in head[:1024]:
            return PICTURE
        case ".svg" if head.startswith(b"<!-- Drawn by lowtide. -->\n<svg"):
            return PICTURE
        case ".html" | ".htm" if head.lower().startswith(b"<!doctype html>") and _PAGE.search(head):
            return PAGE
        case ".csv":
            columns = head.partition(b"\n")[0].decode("utf-8", "replace")
            return table(columns.split(","))
    if (found := _DOCUMENT.match(head)) is not None:
        return document(found[1].decode())
    if b'<testsuite name="lowtide check"' in head[:1024]:
        return JUNIT
    runtime = _RUNTIME.match(head)
    if (
        (runtime is not None and runtime[1].decode() == name)
        or _GENERATED.match(head)
        or _DESCRIBED.search(head[:2048])
    ):
        return GENERATED
    return None
