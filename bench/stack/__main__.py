"""Bounds of the stack, per core: what kernels take, and what programs and the interpreter do above them.

    bench/run stack            compute, and compare with src/lowtide/emit/stack.json
    bench/run stack --store    write it

Exit code 1 if the file says something else. Needs the cross compilers, as `lowtide doctor` names them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cliffs.measured import BOARDS
from bench.shared.lined import lined
from bench.stack.calls import Object, depths, read_object
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.emit.runtime import kernel_files
from lowtide.emit.stack import FILE
from lowtide.machines.board import load_boards
from lowtide.machines.finding import find_compiler
from lowtide.tflite.read import parse
from lowtide.zoo import build

_LIBRARY, _PROGRAM = "library", "program"
KERNEL = re.compile(r"^void (lt_\w+)\(const void \*params, const lt_step \*step\);", re.MULTILINE)
"""How a header declares one."""

_PROGRAMS = {
    "lowtide.h": ("ds-cnn-kws", Options()),
    "lt_slice.h": ("ds-cnn-kws", Options(slices=True)),
    "lt_stream.h": ("ds-cnn-kws", Options(input_mode="streamed", output_mode="streamed")),
    "lt_slice_stream.h": (
        "ds-cnn-kws",
        Options(input_mode="streamed", output_mode="streamed", slices=True),
    ),
    "lt_hop.h": ("ds-cnn-kws", Options(hop=1)),
    "lt_hop_slice.h": ("ds-cnn-kws", Options(hop=1, slices=True)),
    "lt_hop_ring.h": ("ds-cnn-kws", Options(hop=1, input_mode="const")),
    "lt_hop_ring_slice.h": ("ds-cnn-kws", Options(hop=1, input_mode="const", slices=True)),
}
"""A program that includes each header of the runtime."""

_PARTS = {
    "lt_block_4x2.c": ("lt_block_4x2_columns", "lt_block_4x2_depthwise", "lt_block_4x2_plain"),
    "lt_block_vector.c": ("lt_block_vector_planes", "lt_block_vector_depthwise"),
}
"""File of kernels -> the functions of it that only params name."""


def bounds(core: str) -> dict[str, int]:
    """Kernel, or header of the runtime, -> bytes of stack, on one core.

    Raises MissingToolError without its compiler.
    """
    board = load_boards()[BOARDS[core]]
    compiler = [*find_compiler(board.core.toolchain), *board.flags, board.optimise]
    objdump = compiler[0].removesuffix("gcc") + "objdump"
    compiler += ["-std=c99", "-ffunction-sections"]
    with TemporaryDirectory() as place:
        folder = Path(place)
        sources = dict(kernel_files())
        for number, (network, options) in enumerate(_PROGRAMS.values()):
            name = f"{_PROGRAM}{number}"
            files = compile_model(parse(build(network)), replace(options, name=name)).files
            sources |= {file: files[file].decode() for file in (f"{name}.c", f"{name}.h")}
        for name, text in sources.items():
            (folder / name).write_text(text, "utf-8")
        objects = []
        wanted: set[str] = set()
        for name in sorted(sources):
            if name.endswith(".c"):
                made = folder / f"{name}.o"
                _run(*compiler, "-c", str(folder / name), "-o", str(made))
                read = _read(name, made, objdump)
                objects.append(replace(read, held=read.held.union(_PARTS.get(name, ()))))
                for function in objects[-1].functions.values():
                    wanted |= function.calls
        library = folder / "library.o"
        known = {name for one in objects for name in one.functions}
        needed = [f"-Wl,-u,{name}" for name in sorted(wanted - known)]
        (folder / "script").write_text("", "utf-8")  # in place of one that a C library has
        _run(
            *(
                *compiler,
                "-nostdlib",
                "-r",
                "-T",
                str(folder / "script"),
                "-o",
                str(library),
                *needed,
            ),
            "-Wl,--start-group,-lgcc,-lc,--end-group",
        )
        objects.append(_read(_LIBRARY, library, objdump))
    own = {file: _functions(objects, file) for file in sources if file.startswith(_PROGRAM)}
    kernels = {name for one in objects for name in one.held if one.name in own}
    # What a program's kernels take is added to what its functions do, by what it has.
    found = depths(replace(one, held=one.held - kernels) for one in objects)
    programs = {
        header: max(found[name] for name in own[f"{_PROGRAM}{number}.c"])
        for number, header in enumerate(_PROGRAMS)
    }
    declared = {name for text in kernel_files().values() for name in KERNEL.findall(text)}
    return programs | {name: found[name] for name in sorted(declared)}


def _functions(objects: Sequence[Object], file: str) -> list[str]:
    return [name for one in objects if one.name == file for name in one.functions]


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _read(name: str, made: Path, objdump: str) -> Object:
    return read_object(name, _run(objdump, "-dr", str(made)), _run(objdump, "-r", str(made)))


def main() -> int:
    """Compute the bounds of all cores, and compare or write them; the exit code."""
    parser = argparse.ArgumentParser("bench/run stack", description=__doc__)
    parser.add_argument("--store", action="store_true", help="write src/lowtide/emit/stack.json")
    store = parser.parse_args().store
    version = _run("arm-none-eabi-gcc", "-dumpversion").strip()
    document = {
        "compiler": f"GCC {version.rpartition('.')[0]} at -O2",
        "cores": {core: bounds(core) for core in sorted(BOARDS)},
    }
    text = lined(document, 3)
    if store:
        FILE.write_text(text, "utf-8")
        return 0
    same = FILE.exists() and FILE.read_text("utf-8") == text
    print("as stored" if same else f"{FILE.name} is not what the compilers make: --store writes it")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
