"""Programs for this computer of C that tests write, a main of its own included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lowtide.machines.finding import find_compiler
from lowtide.machines.toolchain import compile_sources, link_host


def build_program(
    files: Mapping[str, bytes], folder: Path, flags: Sequence[str], *, cached: bool = True
) -> tuple[Path, str]:
    """Compile and link .c files one of which has a main; return the program and the warnings.

    With `cached`, objects of sources that did not change are those of an earlier build.
    """
    compiler = find_compiler("host")
    objects, warnings = compile_sources(compiler, flags, files, folder, cached)
    return link_host(compiler, flags, objects, folder, "program"), warnings
