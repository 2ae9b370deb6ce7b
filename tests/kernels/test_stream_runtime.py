"""lt_stream.c by itself, on a program made by hand: every function, every misuse, every failure.

Why beside the tests of whole networks: theirs never hand over a row before one is given, and which
functions they have depends on the network.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from lowtide.emit.runtime import kernel_files
from lowtide.machines.toolchain import WARNINGS

_SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_a_program_made_by_hand(tmp_path: Path) -> None:
    files = [f"{stem}.{kind}" for stem in ("lowtide", "lt_stream") for kind in "ch"]
    files += ["lt_version.h", "lt_walk.h"]
    for name in files:
        (tmp_path / name).write_text(kernel_files()[name])
    main = Path(__file__).with_name("stream_program.c")
    sources = [str(main), *(name for name in files if name.endswith(".c"))]
    command = ["gcc", "-std=c99", *WARNINGS, "-Werror", *_SANITIZERS, "-I.", *sources, "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    ran = subprocess.run(
        ["./main"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[:4000]
