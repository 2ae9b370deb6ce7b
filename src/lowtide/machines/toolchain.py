"""Compiling a bundle, and linking it for a board.

Why a bundle in memory: the same bytes are compiled for the host, for boards and for targets that are
only compiled, each in a folder of its own that vanishes afterwards. File names given to the compiler
are relative to that folder, so that messages and maps are the same on every machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from lowtide.machines.finding import find_compiler
from lowtide.machines.glue import HEADER, model_header, read_interface
from lowtide.machines.linkmap import Sizes, read_map
from lowtide.machines.objects import compile_objects, compiler_said, run_compiler

WARNINGS: Final = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic")
# Tables are initialised by position, so a value in another's place must not pass.
_ERRORS: Final = ("-Werror=int-conversion", "-Werror=overflow")
_STANDARD: Final = ("-std=c99", *WARNINGS, *_ERRORS, "-ffunction-sections", "-fdata-sections")
# The harness must not pull in library functions, nor have its loops turned into calls of them.
_HARNESS: Final = ("-ffreestanding", "-fno-tree-loop-distribute-patterns", "-Os")
# Kernels of two libraries in one process have the same names, and are each library's own.
_SHARED: Final = ("-fvisibility=hidden", *(() if sys.platform == "win32" else ("-fPIC",)))


@dataclass(frozen=True, slots=True)
class BoardLayout:
    """Where the linker puts what: addresses of the machine, lengths in bytes of the real part."""

    ram_origin: int
    ram_length: int
    flash_origin: int
    flash_length: int
    vectors: int | None = None


@dataclass(frozen=True, slots=True)
class Executable:
    """A linked program.

    `ram_overflow` and `flash_overflow` are the bytes by which it exceeds a region, harness included;
    if either is not 0, `elf` must not be run. `warnings` is what the compiler said, "" if nothing.
    """

    elf: Path
    sizes: Sizes
    warnings: str
    ram_overflow: int = 0
    flash_overflow: int = 0


def build_host(
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    flags: Sequence[str],
    *,
    shared: bool = False,
    cached: bool = True,
) -> tuple[Path, str]:
    """Compile and link `bundle` with the host's harness; return the program and the warnings.

    It is a program that answers requests over pipes, or, if `shared`, a library with the functions of
    boards/host_program.h. With `cached`, objects of sources that did not change are those of an earlier
    build. Raises MissingToolError and BuildError.
    """
    compiler = find_compiler("host")
    flags = [*flags, *(_SHARED if shared else ())]
    objects, warnings = compile_sources(compiler, flags, bundle, folder, cached)
    harness = ["host_program.c", *([] if shared else ["host_server.c"])]
    more, more_warnings = _compile_harness(compiler, flags, bundle, name, folder, harness, cached)
    made = "program.so" if shared else "program"
    linked = [*flags, *(["-shared"] if shared else [])]
    path = link_host(compiler, linked, [*objects, *more], folder, made)
    return path, warnings + more_warnings


def build_for_board(
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    toolchain: str,
    flags: Sequence[str],
    layout: BoardLayout,
    *,
    cached: bool = True,
) -> Executable:
    """Compile `bundle` and link it with the board's harness for `layout`, in the empty `folder`.

    With `cached`, objects of sources that did not change are those of an earlier build. A program
    that exceeds a region is no exception but a result, with all its sizes. Raises MissingToolError,
    and BuildError if the C is faulty.
    """
    compiler = find_compiler(toolchain)
    objects, warnings = compile_sources(compiler, flags, bundle, folder, cached)
    start = "start_riscv.c" if toolchain.startswith("riscv") else "start_arm.c"
    more, more_warnings = _compile_harness(
        compiler, [*flags, *_HARNESS], bundle, name, folder, [start, "main_board.c"], cached
    )
    objects += more
    (folder / "board.ld").write_text(_linker_script(layout), encoding="utf-8")
    link = [*compiler, *flags, "-nostartfiles", "-T", "board.ld", *objects, "-lm"]
    link += ["-Wl,--gc-sections", "-Wl,-Map=program.map", "-o", "program.elf"]
    linked = run_compiler(link, folder)
    overflow = {
        region: int(size)
        for region, size in re.findall(r"region [`'](\w+)' overflowed by (\d+)", linked.stderr)
    }
    if overflow:  # link it all the same, for the sizes
        linked = run_compiler([*link, "-Wl,--noinhibit-exec"], folder)
    if "undefined reference" in linked.stderr or not overflow:
        compiler_said(linked, "link")
    return Executable(
        folder / "program.elf",
        read_map((folder / "program.map").read_text(encoding="utf-8", errors="replace"), name),
        warnings + more_warnings,
        overflow.get("RAM", 0),
        overflow.get("FLASH", 0),
    )


def compile_sources(
    compiler: Sequence[str],
    flags: Sequence[str],
    bundle: Mapping[str, bytes],
    folder: Path,
    cached: bool,
) -> tuple[list[str], str]:
    """Compile the bundle's .c files in `folder`, which must exist; return the objects' names and the
    compiler's warnings. Raises BuildError."""
    for path, content in bundle.items():
        file = folder / "bundle" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if "nolibc" in compiler:
        _copy_data("nolibc", folder / "nolibc")
    sources = [f"bundle/{path}" for path in sorted(bundle) if path.endswith(".c")]
    command = [*compiler, *_STANDARD, *flags, "-Ibundle"]
    return compile_objects(command, sources, folder, cached=cached)


def link_host(
    compiler: Sequence[str], flags: Sequence[str], objects: Sequence[str], folder: Path, made: str
) -> Path:
    """Link objects in `folder` to the program, or library, `made`. Raises BuildError."""
    command = [*compiler, *flags, *objects, "-lm", "-o", made]
    compiler_said(run_compiler(command, folder), "link")
    return folder / made


def _compile_harness(
    compiler: Sequence[str],
    flags: Sequence[str],
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    sources: Sequence[str],
    cached: bool,
) -> tuple[list[str], str]:
    _copy_data("", folder / "harness")
    (folder / "harness" / HEADER).write_text(
        model_header(read_interface(bundle, name)), encoding="utf-8"
    )
    command = [*compiler, *_STANDARD, *flags, "-Ibundle", "-Iharness"]
    return compile_objects(command, [f"harness/{s}" for s in sources], folder, cached=cached)


def _copy_data(source: str, target: Path) -> None:
    """Copy the package's C files from boards/`source`; packages need not be unpacked folders."""
    target.mkdir(exist_ok=True)
    for entry in (resources.files("lowtide.machines") / "boards" / source).iterdir():
        if entry.name.endswith((".c", ".h")):
            (target / entry.name).write_bytes(entry.read_bytes())


def _linker_script(layout: BoardLayout) -> str:
    text = (resources.files("lowtide.machines") / "boards/board.ld.in").read_text("utf-8")
    vectors = ""
    if layout.vectors is not None:
        vectors = f"    VECTORS (rx) : ORIGIN = {layout.vectors:#x}, LENGTH = 1K"
    values = {
        "FLASH_ORIGIN": f"{layout.flash_origin:#x}",
        "FLASH_LENGTH": str(layout.flash_length),
        "RAM_ORIGIN": f"{layout.ram_origin:#x}",
        "RAM_LENGTH": str(layout.ram_length),
        "VECTORS_MEMORY": vectors,
        "VECTORS_REGION": "VECTORS" if vectors else "FLASH",
    }
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)
