"""Runs of bytes are copied from anywhere to anywhere (lt_copy.h), and nothing beside them is touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lowtide.emit.runtime import kernel_files
from lowtide.lower.copies import copied, pitched
from lowtide.machines.finding import find_compiler

_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror")
_CHECKS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover")


@pytest.mark.parametrize("core", [(), ("-D__ARM_FEATURE_UNALIGNED",)], ids=["aligned", "any"])
def test_any_run_is_copied(core: tuple[str, ...], tmp_path: Path) -> None:
    """As on cores that load words from multiples of their size, and on those that do from anywhere."""
    for name, text in kernel_files().items():
        (tmp_path / name).write_text(text)
    program = str(Path(__file__).with_name("copy_program.c"))
    command = [*find_compiler("host"), *_FLAGS, *_CHECKS, *core, "-I.", program, "-o", "copy"]
    subprocess.run(command, cwd=tmp_path, check=True)
    ran = subprocess.run(["./copy"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_every_byte_is_counted_once() -> None:
    sizes = {"word_fours": 16, "word_rests": 4, "half_fours": 8}
    sizes |= {"byte_eights": 8, "byte_fours": 4, "byte_rests": 1, "byte_heads": 1}
    for size in range(1, 90):
        for to in range(4):
            for source in range(4):
                done = copied(1, size, pitched(1, 0, to), pitched(1, 0, source))
                assert sum(done[f"copied_{name}"] * n for name, n in sizes.items()) == size
