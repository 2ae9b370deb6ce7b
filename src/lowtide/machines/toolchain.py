"""Compiling a bundle, and linking it for a board.

Why a bundle in memory: the same bytes are compiled for the host, for boards and for targets that are
only compiled, each in a folder of its own that vanishes afterwards. File names given to the compiler
are relative to that folder, so that messages and maps are the same on every machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from lowtide.machines.failures import BuildError
from lowtide.machines.finding import find_compiler
from lowtide.machines.glue import HEADER, model_header, read_interface
from lowtide.machines.linkmap import Sizes, read_map

WARNINGS: Final = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic")
# Tables are initialised by position, so a value in another's place must not pass.
_ERRORS: Final = ("-Werror=int-conversion", "-Werror=overflow")
_STANDARD: Final = ("-std=c99", *WARNINGS, *_ERRORS, "-ffunction-sections", "-fdata-sections")
# The harness must not pull in library functions, nor have its loops turned into calls of them.
_HARNESS: Final = ("-ffreestanding", "-fno-tree-loop-distribute-patterns", "-Os")
_JOBS: Final = 2
_SHOWN_LINES: Final = 8
_CAUSE: Final = re.compile(r"\berror: |undefined reference")


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


def compile_only(bundle: Mapping[str, bytes], toolchain: str, folder: Path, *flags: str) -> str:
    """Compile `bundle` in `folder`, which must exist, without linking; return the warnings.

    `toolchain` is a board's, "host" or "xtensa-lx106-elf". Raises MissingToolError and BuildError.
    """
    return _compile(find_compiler(toolchain), flags or ("-O2",), bundle, folder)[1]


def build_host(
    bundle: Mapping[str, bytes], name: str, folder: Path, flags: Sequence[str]
) -> tuple[Path, str]:
    """Compile and link `bundle` with the host's harness; return the program and the warnings.

    Raises MissingToolError and BuildError.
    """
    compiler = find_compiler("host")
    objects, warnings = _compile(compiler, flags, bundle, folder)
    more, more_warnings = _compile_harness(compiler, flags, bundle, name, folder, ["main_host.c"])
    command = [*compiler, *flags, *objects, *more, "-lm", "-o", "program"]
    _check(_run(command, folder), "link")
    return folder / "program", warnings + more_warnings


def build_for_board(
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    toolchain: str,
    flags: Sequence[str],
    layout: BoardLayout,
) -> Executable:
    """Compile `bundle` and link it with the board's harness for `layout`, in the empty `folder`.

    A program that exceeds a region is no exception but a result, with all its sizes. Raises
    MissingToolError, and BuildError if the C is faulty.
    """
    compiler = find_compiler(toolchain)
    objects, warnings = _compile(compiler, flags, bundle, folder)
    start = "start_riscv.c" if toolchain.startswith("riscv") else "start_arm.c"
    more, more_warnings = _compile_harness(
        compiler, [*flags, *_HARNESS], bundle, name, folder, [start, "main_board.c"]
    )
    objects += more
    (folder / "board.ld").write_text(_linker_script(layout), encoding="utf-8")
    link = [*compiler, *flags, "-nostartfiles", "-T", "board.ld", *objects, "-lm"]
    link += ["-Wl,--gc-sections", "-Wl,-Map=program.map", "-o", "program.elf"]
    linked = _run(link, folder)
    overflow = {
        region: int(size)
        for region, size in re.findall(r"region [`'](\w+)' overflowed by (\d+)", linked.stderr)
    }
    if overflow:  # link it all the same, for the sizes
        linked = _run([*link, "-Wl,--noinhibit-exec"], folder)
    if "undefined reference" in linked.stderr or not overflow:
        _check(linked, "link")
    return Executable(
        folder / "program.elf",
        read_map((folder / "program.map").read_text(encoding="utf-8", errors="replace"), name),
        warnings + more_warnings,
        overflow.get("RAM", 0),
        overflow.get("FLASH", 0),
    )


def _compile(
    compiler: Sequence[str], flags: Sequence[str], bundle: Mapping[str, bytes], folder: Path
) -> tuple[list[str], str]:
    """Compile the bundle's .c files; return the objects' names and the compiler's warnings."""
    for path, content in bundle.items():
        file = folder / "bundle" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if "nolibc" in compiler:
        _copy_data("nolibc", folder / "nolibc")
    sources = [f"bundle/{path}" for path in sorted(bundle) if path.endswith(".c")]
    return _objects([*compiler, *_STANDARD, *flags, "-Ibundle"], sources, folder)


def _compile_harness(
    compiler: Sequence[str],
    flags: Sequence[str],
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    sources: Sequence[str],
) -> tuple[list[str], str]:
    _copy_data("", folder / "harness")
    (folder / "harness" / HEADER).write_text(
        model_header(read_interface(bundle, name)), encoding="utf-8"
    )
    command = [*compiler, *_STANDARD, *flags, "-Ibundle", "-Iharness"]
    return _objects(command, [f"harness/{source}" for source in sources], folder)


def _objects(command: Sequence[str], sources: Sequence[str], folder: Path) -> tuple[list[str], str]:
    objects = [f"{source.removesuffix('.c')}.o" for source in sources]
    with ThreadPoolExecutor(_JOBS) as pool:
        done = pool.map(
            lambda pair: _run([*command, "-c", pair[0], "-o", pair[1]], folder),
            zip(sources, objects, strict=True),
        )
        return objects, "".join(_check(result, "compile") for result in done)


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


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _check(result: subprocess.CompletedProcess[str], what: str) -> str:
    """What the compiler said; raises BuildError if it failed."""
    if result.returncode == 0:
        return result.stderr
    # What made it fail comes first: warnings alone may fill more lines than are shown.
    lines = sorted(result.stderr.splitlines(), key=lambda line: _CAUSE.search(line) is None)
    shown = "\n".join(f"    {line}" for line in lines[:_SHOWN_LINES])
    raise BuildError(
        f"the generated C does not {what}:\n{shown}", "report this as a fault of lowtide"
    )
