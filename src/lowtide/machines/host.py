"""Running a bundle on the host, under sanitizers, and tracing every row that it makes.

Why: the host finds what a board cannot show: an access beyond the arena, signed overflow, a shift out
of range; and it can hand over every tensor for comparison with the reference kernels.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lowtide.machines.calling import Apart, Loaded, Running
from lowtide.machines.glue import Interface, check_samples, read_interface
from lowtide.machines.toolchain import build_host

# Programs run for a moment and are compiled for seconds: little is optimised, lines alone are named.
CHECKED: Final = (
    *("-O1", "-g1"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)
"""The compiler's flags for a program that says itself where it does what C forbids."""
QUICK: Final = ("-O2",)
"""The compiler's flags for a program that runs often."""
TRACED: Final = "-DLT_TRACE"
"""The flag with which a program calls lt_trace for every row that it makes."""

_HEAD: Final = struct.Struct("=4i")  # sample, tensor, row, bytes


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A bundle built for the host, a program or, if `shared`, a library.

    `warnings` is what the compiler said, "" if nothing.
    """

    path: Path
    interface: Interface
    traces: bool
    warnings: str
    shared: bool = False

    def start(self, timeout: float = 300.0) -> Running:
        """Run it, in this process if it is a library; else each answer must come in `timeout` seconds.

        Raises ProgramError if it does not start.
        """
        if self.shared:
            return Loaded(self.path, self.interface)
        return Apart(self.path, self.interface, timeout)


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
    shared: bool = False,
    trace: bool = False,
    count: bool = False,
    cached: bool = True,
) -> HostProgram:
    """Build the model `name` in the empty `folder`, with ASan and UBSan; LT_TRACE, LT_COUNT on request.

    What is `shared` is to run in this process, where no sanitizer can be. With `cached`, objects of
    sources that did not change are those of an earlier build.
    Raises MissingToolError if there is no compiler, BuildError if the C is faulty.
    """
    interface = read_interface(bundle, name)
    flags = [*(CHECKED if sanitize and not shared else QUICK), *([TRACED] if trace else ())]
    flags += ["-DLT_COUNT"] if count else []
    path, warnings = build_host(bundle, name, folder, flags, shared=shared, cached=cached)
    return HostProgram(path, interface, trace, warnings, shared)


def host_run(
    program: HostProgram,
    samples: Sequence[Sequence[bytes]],
    timeout: float = 300.0,
    *,
    restart: int = 0,
) -> tuple[tuple[bytes, ...], ...]:
    """Each sample's outputs; `samples` holds each sample's inputs, `timeout` is in seconds.

    All are run by one instance of the model, in their order; before sample `restart`, if it is not
    the first, that instance is reset. Streamed inputs are pulled for even samples, and pushed for odd
    ones; a model that can runs each third sample in slices.
    Raises ProgramError if the program crashes, hangs, trips a sanitizer or returns a bad status.
    """
    with closing(program.start(timeout)) as running:
        return _run(running, samples, restart)


def host_macs(
    program: HostProgram, samples: Sequence[Sequence[bytes]], timeout: float = 300.0
) -> int:
    """Multiply-accumulates that a program built with `count` does for all samples together."""
    with closing(program.start(timeout)) as running:
        _run(running, samples, 0)
        return running.macs()


def host_trace(
    program: HostProgram,
    samples: Sequence[Sequence[bytes]],
    timeout: float = 300.0,
    *,
    restart: int = 0,
) -> HostTrace:
    """Run a program that was built with `trace` and collect the rows it made; else as `host_run`."""
    if not program.traces:
        raise ValueError("the program was built without trace=True")
    with closing(program.start(timeout)) as running:
        outputs = _run(running, samples, restart)
        return HostTrace(outputs, rounds_of(running.records()))


def _run(
    running: Running, samples: Sequence[Sequence[bytes]], restart: int
) -> tuple[tuple[bytes, ...], ...]:
    check_samples(running.interface, samples, restart)
    outputs: list[tuple[bytes, ...]] = []
    for start, stop in [(0, restart), (restart, len(samples))] if restart else [(0, len(samples))]:
        if start:
            running.reset()
        outputs += _part(running, samples[start:stop], start)
    return tuple(outputs)


def _part(
    running: Running, samples: Sequence[Sequence[bytes]], first: int
) -> Iterator[tuple[bytes, ...]]:
    count = len(samples)
    inputs = [
        np.frombuffer(bytearray(b"".join(each)), np.uint8) for each in zip(*samples, strict=True)
    ]
    made = running.run(inputs, count, first=first, varied=True)
    for n in range(count):
        sizes = running.interface.output_bytes
        yield tuple(
            output[n * size : (n + 1) * size].tobytes()
            for output, size in zip(made, sizes, strict=True)
        )


def rounds_of(records: bytes) -> dict[tuple[int, int], tuple[bytes, ...]]:
    """The records of a trace as in `HostTrace.rounds`."""
    rows: dict[tuple[int, int], dict[int, list[bytes]]] = {}
    at = 0
    while at < len(records):
        sample, tensor, row, size = _HEAD.unpack_from(records, at)
        at += _HEAD.size
        rows.setdefault((sample, tensor), {}).setdefault(row, []).append(records[at : at + size])
        at += size
    return {key: _rounds(made) for key, made in rows.items()}


def _rounds(rows: Mapping[int, Sequence[bytes]]) -> tuple[bytes, ...]:
    """The tensor of the first version of each row, of the second...; the last if there are fewer."""
    return tuple(
        b"".join(rows[row][min(version, len(rows[row]) - 1)] for row in sorted(rows))
        for version in range(max(map(len, rows.values())))
    )
