"""What of the runtime's C compared networks reach: draws of pairs, as gcov counts them on the host.

`python -m pairs.covered FOLDER DRAWS...` verifies the draws with a runtime that counts, built in FOLDER,
and leaves the counts there. Why so: the interpreters of step programs, streams and windows that slide
run in whole programs alone. The objects of the runtime are built once: the counts belong to them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.emit.runtime import kernel_files
from lowtide.machines import host, toolchain
from lowtide.machines.finding import find_compiler
from lowtide.oracle import interpreters
from lowtide.tflite.read import parse
from oracle_server import served
from pairs.drawing import SAMPLES, Draw, draw_of

COUNTED = ("-std=gnu99", "-O1", "--coverage", "-fPIC", "-fno-builtin-malloc", "-I.")
"""As in tests/kernels/cases/coverage.py: counts of both are added up, branch by branch."""
# A program is killed when it is no longer needed: so it writes its counts with each of its answers.
_DUMP = """\
#include <stdint.h>
void __gcov_dump(void);
void __gcov_reset(void);
int64_t __real_host_macs(void);
int64_t __wrap_host_macs(void);
int64_t __wrap_host_macs(void)
{
    __gcov_dump();
    __gcov_reset();
    return __real_host_macs();
}
"""
_LINKED = ("--coverage", "-Wl,--wrap=host_macs")


class Runtime:
    """The runtime's objects that count, built in a folder, and linked into each program instead."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        for name, text in {**kernel_files(), "dump.c": _DUMP}.items():
            (folder / name).write_text(text)
        sources = sorted(path.name for path in folder.glob("*.c"))
        command = [*find_compiler("host"), *COUNTED, host.TRACED, "-c", *sources]
        subprocess.run(command, cwd=folder, check=True)
        self._compile = toolchain.compile_sources

    def use(self) -> None:
        """From now on, programs of this process for the host are built with it, without sanitizers."""
        setattr(toolchain, "compile_sources", self._sources)  # noqa: B010  # for mypy
        setattr(host, "CHECKED", ("-O1",))  # noqa: B010  # for mypy

    def _sources(
        self,
        compiler: Sequence[str],
        flags: Sequence[str],
        bundle: Mapping[str, bytes],
        folder: Path,
        cached: bool,
    ) -> tuple[list[str], str]:
        counted = [name for name in bundle if name.endswith(".c") and name in kernel_files()]
        own = {name: text for name, text in bundle.items() if name not in counted}
        objects, said = self._compile(compiler, flags, own, folder, cached)
        for name in counted:
            objects.append(str(self._folder / f"{name[:-2]}.o"))
        return [*objects, str(self._folder / "dump.o"), *_LINKED], said


def verified(draw: Draw) -> bool:
    """Whether all tensors of a draw are the oracle's on the host."""
    compiled = compile_model(parse(draw.file, path="network.tflite"), Options(**draw.options))
    samples = None if compiled.state_bytes else SAMPLES
    return checking.verify(compiled, samples=samples).bit_exact


def main() -> int:
    """Verifies the draws; 1 if one is not the oracle's."""
    parser = argparse.ArgumentParser(description="Count what draws reach of the runtime.")
    parser.add_argument("folder", type=Path, help="for the counts: it must exist, and be empty")
    parser.add_argument("draws", type=Path, nargs="+", help="files of draws, a line each")
    parser.add_argument("--every", type=int, default=1, help="each so many-th draw alone")
    args = parser.parse_args()
    setattr(interpreters, "start_worker", served(interpreters.start_worker))  # noqa: B010  # for mypy
    Runtime(args.folder).use()
    wrong = 0
    texts = (path.read_text("utf-8") for path in args.draws)
    lines = [line for text in texts for line in text.splitlines()][:: args.every]
    for number, line in enumerate(lines):
        if not verified(draw_of(line)):
            wrong += 1
            print(f"WRONG: {line}", file=sys.stderr)
        if (number + 1) % 20 == 0:
            print(f"{number + 1} of {len(lines)} networks", file=sys.stderr, flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
