"""The bundle: generated files and the kernels they need, in memory, before anything is written.

Which kernel sources belong to a program follows from the headers it includes: lt_x.h needs lt_x.c
and its variants for the target's instruction sets, lt_x_VARIANT.c, and whatever headers those include.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lowtide.emit.c_writer import write
from lowtide.emit.runtime import LICENSE, kernel_files, license_text
from lowtide.program.assemble import Assembly

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def bundle(assembly: Assembly, name: str) -> dict[str, bytes]:
    """{file name: contents} of everything to compile, in a flat folder; the same for the same input."""
    source = write(assembly, name)
    texts = {f"{name}.h": source.header, f"{name}.c": source.code}
    library = kernel_files()
    variants = assembly.target.variants
    pending = ["lowtide.h", *source.runtime_headers]
    while pending:
        header = pending.pop()
        stem = header.removesuffix(".h")
        for file, text in library.items():
            mine = file in (header, f"{stem}.c", *(f"{stem}_{kind}.c" for kind in variants))
            if mine and file not in texts and _owner(file, library) == stem:
                texts[file] = text
                pending += [h for h in _INCLUDE.findall(text) if h in library]
    texts[LICENSE] = license_text()
    return {file: texts[file].encode() for file in sorted(texts)}


def _owner(file: str, library: Mapping[str, str]) -> str:
    """The stem of the header that `file` belongs to: the longest that begins its name."""
    stems = [h.removesuffix(".h") for h in library if h.endswith(".h")]
    name = file.rpartition(".")[0]
    return max((s for s in stems if name == s or name.startswith(f"{s}_")), key=len, default=name)
