"""Running a bundle on the host, under sanitizers, and tracing every row that it makes.

Why: the host finds what a board cannot show: an access beyond the arena, signed overflow, a shift out
of range; and it can hand over every tensor for comparison with the reference kernels.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lowtide.machines.failures import ProgramError
from lowtide.machines.glue import Interface, join_samples, read_interface, split_outputs
from lowtide.machines.toolchain import build_host

# Programs run for a moment and are compiled for seconds: little is optimised, lines alone are named.
CHECKED: Final = (
    *("-O1", "-g1"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)
"""The compiler's flags for a program that says itself where it does what C forbids."""
TRACED: Final = "-DLT_TRACE"
"""The flag with which a program calls lt_trace for every row that it makes."""

_SHOWN_LINES: Final = 12
_HEAD: Final = struct.Struct("=4i")  # sample, tensor, row, bytes


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A bundle built for the host. `warnings` is what the compiler said, "" if nothing."""

    path: Path
    interface: Interface
    traces: bool
    warnings: str


@dataclass(frozen=True, slots=True)
class HostTrace:
    """Outputs per sample, and (sample, tensor) -> the tensor's rows, in the order of their numbers.

    Sample -1 holds what init made. Of a row made more than once the last version counts; `rounds` has
    the tensor for every version of its rows.
    """

    outputs: tuple[tuple[bytes, ...], ...]
    rounds: Mapping[tuple[int, int], tuple[bytes, ...]]

    @property
    def tensors(self) -> dict[tuple[int, int], bytes]:
        """The last version of every row of every tensor."""
        return {key: made[-1] for key, made in self.rounds.items()}


def host_build(
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    *,
    sanitize: bool = True,
    trace: bool = False,
    count: bool = False,
    cached: bool = True,
) -> HostProgram:
    """Build the model `name` in the empty `folder`, with ASan and UBSan; LT_TRACE, LT_COUNT on request.

    With `cached`, objects of sources that did not change are those of an earlier build.
    Raises MissingToolError if there is no compiler, BuildError if the C is faulty.
    """
    interface = read_interface(bundle, name)
    flags = [*(CHECKED if sanitize else ("-O2",)), *([TRACED] if trace else ())]
    flags += ["-DLT_COUNT"] if count else []
    path, warnings = build_host(bundle, name, folder, flags, cached=cached)
    return HostProgram(path, interface, trace, warnings)


def host_run(
    program: HostProgram, samples: Sequence[Sequence[bytes]], timeout: float = 300.0
) -> tuple[tuple[bytes, ...], ...]:
    """Each sample's outputs; `samples` holds each sample's inputs, `timeout` is in seconds.

    Raises ProgramError if the program crashes, hangs, trips a sanitizer or returns a bad status.
    """
    return _run(program, samples, timeout)[0]


def host_macs(
    program: HostProgram, samples: Sequence[Sequence[bytes]], timeout: float = 300.0
) -> int:
    """Multiply-accumulates that a program built with `count` does for all samples together."""
    printed = re.search(r"^macs (\d+)$", _run(program, samples, timeout)[1], re.MULTILINE)
    if printed is None:
        raise ValueError("the program was built without count=True")
    return int(printed[1])


def _run(
    program: HostProgram, samples: Sequence[Sequence[bytes]], timeout: float
) -> tuple[tuple[tuple[bytes, ...], ...], str]:
    """Each sample's outputs, and what the program printed."""
    folder = program.path.parent
    inputs, outputs, trace = (folder / f"{what}.bin" for what in ("inputs", "outputs", "trace"))
    inputs.write_bytes(join_samples(program.interface, samples, sys.byteorder))
    try:
        done = subprocess.run(
            [program.path, inputs, outputs, *([trace] if program.traces else [])],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
            # Leak checks need ptrace, which sandboxes forbid; generated code allocates nothing.
            env={
                **os.environ,
                "ASAN_OPTIONS": "detect_leaks=0",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            },
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(
            f"the program did not end within {timeout:g} s on the host",
            "report this as a fault of lowtide",
        ) from None
    if done.returncode != 0:
        lines = "\n".join(f"    {line}" for line in done.stderr.splitlines()[:_SHOWN_LINES])
        raise ProgramError(
            f"the program failed on the host (exit {done.returncode}):\n{lines}",
            "report this as a fault of lowtide",
        )
    return split_outputs(program.interface, outputs.read_bytes(), len(samples)), done.stdout


def host_trace(
    program: HostProgram, samples: Sequence[Sequence[bytes]], timeout: float = 300.0
) -> HostTrace:
    """Run a program that was built with `trace` and collect the rows it made; else as `host_run`."""
    if not program.traces:
        raise ValueError("the program was built without trace=True")
    outputs = host_run(program, samples, timeout)
    data = program.path.with_name("trace.bin").read_bytes()
    rows: dict[tuple[int, int], dict[int, list[bytes]]] = {}
    at = 0
    while at < len(data):
        sample, tensor, row, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        rows.setdefault((sample, tensor), {}).setdefault(row, []).append(data[at : at + size])
        at += size
    return HostTrace(outputs, {key: _rounds(made) for key, made in rows.items()})


def _rounds(rows: Mapping[int, Sequence[bytes]]) -> tuple[bytes, ...]:
    """The tensor of the first version of each row, of the second...; the last if there are fewer."""
    return tuple(
        b"".join(rows[row][min(version, len(rows[row]) - 1)] for row in sorted(rows))
        for version in range(max(map(len, rows.values())))
    )
