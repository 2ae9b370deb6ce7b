"""The bundle: generated files and the kernels they need, in memory, before anything is written.

A folder that is written to again may hold kernels that the new bundle has no use for; which of them are
lowtide's own, and needed by nothing else there, is found out here, too.

Which kernel sources belong to a program follows from the headers it includes: lt_x.h needs lt_x.c
and its variants for the target's instruction sets, lt_x_VARIANT.c, and whatever headers those include.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lowtide.emit.c_writer import write
from lowtide.emit.misra import DEVIATIONS, deviations
from lowtide.emit.origin import Origin
from lowtide.emit.runtime import LICENSE, kernel_files, license_text
from lowtide.program.assemble import Assembly
from lowtide.target import Target

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_ANY_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
_LISTED = re.compile(r"^Kernels in this folder: (.+)$", re.MULTILINE)
README = "README.md"


def bundle(assembly: Assembly, name: str, origin: Origin | None = None) -> dict[str, bytes]:
    """{file name: contents} of everything to compile, in a flat folder; the same for the same input.
    The header says what it is from, if that is told."""
    source = write(assembly, name, origin)
    texts = {f"{name}.h": source.header, f"{name}.c": source.code}
    library = kernel_files()
    texts |= {file: library[file] for file in sources(source.runtime_headers, assembly.target)}
    texts[DEVIATIONS] = deviations(texts, assembly.target)
    texts[LICENSE] = license_text()
    return {file: texts[file].encode() for file in sorted(texts)}


def sources(headers: Iterable[str], target: Target) -> tuple[str, ...]:
    """The runtime's files that a program for `target` needs which includes these headers of it."""
    library = kernel_files()
    found: dict[str, None] = {}
    pending = ["lowtide.h", *headers]
    while pending:
        header = pending.pop()
        stem = header.removesuffix(".h")
        names = {header, f"{stem}.c", *(f"{stem}_{kind}.c" for kind in target.variants)}
        for file in sorted(names & library.keys()):
            if file not in found and _owner(file, library) == stem:
                found[file] = None
                pending += [h for h in _INCLUDE.findall(library[file]) if h in library]
    return tuple(found)


def listed(files: Iterable[str]) -> str:
    """The line of a README that names the kernels among `files`, for `superseded` to read."""
    return (
        f"Kernels in this folder: {', '.join(sorted(set(files) - {README, LICENSE, DEVIATIONS}))}"
    )


def superseded(before: Mapping[str, str], after: Iterable[str]) -> tuple[str, ...]:
    """The kernels among the files of a folder that the bundle written to it, `after`, has no use for.

    `before` has the texts of the sources that were there, and of the README. Only files of lowtide's own
    go: those that the README of an earlier bundle lists, and those that are kernels as they are now.
    None goes that a file which stays includes: several bundles may share a folder, and their kernels.
    """
    library, new = kernel_files(), set(after)
    named = _LISTED.search(before.get(README, ""))
    known = set() if named is None else set(named[1].split(", "))
    own = {
        name
        for name, text in before.items()
        if name not in new and (name in known or library.get(name) == text)
    }
    own.discard(README)
    texts = {name: text for name, text in before.items() if name not in new and name != README}
    headers = {name: text for name, text in texts.items() if name.endswith(".h")}
    pending = [name for name in texts if name not in own]
    while pending:
        used = {
            include.rpartition("/")[2] for include in _ANY_INCLUDE.findall(texts[pending.pop()])
        }
        kept = {name for name in own if name in used or f"{_owner(name, headers)}.h" in used}
        own -= kept
        pending += kept
    return tuple(sorted(own))


def _owner(file: str, library: Mapping[str, str]) -> str:
    """The stem of the header that `file` belongs to: the longest that begins its name."""
    stems = [h.removesuffix(".h") for h in library if h.endswith(".h")]
    name = file.rpartition(".")[0]
    return max((s for s in stems if name == s or name.startswith(f"{s}_")), key=len, default=name)
