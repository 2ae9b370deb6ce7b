"""A program that was built for the host, running: the functions of boards/host_program.h, from Python.

In this process it is as quick as C is, and what is wrong with it is wrong with all of the process. In a
process of its own, which answers over pipes, it may have sanitizers, and end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide.machines.failures import ProgramError
from lowtide.machines.glue import Interface

Bytes = NDArray[np.uint8]

_REMEDY: Final = "this is an internal error of lowtide; report it, with the model"
_SHOWN_LINES: Final = 12
_REQUEST: Final = struct.Struct("=4q")  # what, samples, first, varied
_REPLY: Final = struct.Struct("=2q")  # bytes of records, multiply-accumulates
_RUN: Final = 1
_RESET: Final = 2


class Running(Protocol):
    """A program with its memory: what it keeps from one run to the next, it keeps here.

    One thread at a time may call it.
    """

    interface: Interface

    def run(
        self, inputs: Sequence[NDArray[Any]], samples: int, *, first: int = 0, varied: bool = False
    ) -> list[Bytes]:
        """Run `samples` samples one after the other; `inputs` holds those of each input, contiguous.

        Returns the bytes of each output's samples. `first` is the number of the first sample: it is
        noted in the trace, and if `varied`, the numbers decide which samples are run in slices or have
        their rows pushed. Raises ProgramError if the program fails.
        """

    def reset(self) -> None:
        """Put the state, if there is any, to its start. Raises ProgramError if the program fails."""

    def records(self) -> bytes:
        """What the program traced since this was asked last, as it lies in memory."""

    def macs(self) -> int:
        """Multiply-accumulates so far, of a program that counts them; else 0."""

    def close(self) -> None:
        """End it, and give its memory back; it must not be called again."""


class Loaded:
    """A program as a library in this process. Raises ProgramError if it does not start."""

    def __init__(self, library: Path, interface: Interface) -> None:
        """Load `library`, whose file may vanish then, and set up the program."""
        self.interface = interface
        try:
            # Each file is loaded once, so each program has a library, and memory, of its own.
            self._library = ctypes.CDLL(str(library))
        except OSError as error:
            raise ProgramError(f"the program cannot be loaded: {error}", _REMEDY) from None
        self._end = weakref.finalize(self, _unload, self._library)
        self._library.host_run.argtypes = [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int)
        ]
        self._library.host_trace.restype = self._library.host_macs.restype = ctypes.c_int64
        self._library.host_failed.restype = ctypes.c_char_p
        self._check(self._library.host_open())

    def run(
        self, inputs: Sequence[NDArray[Any]], samples: int, *, first: int = 0, varied: bool = False
    ) -> list[Bytes]:
        """See `Running`."""
        outputs = [np.empty(samples * size, np.uint8) for size in self.interface.output_bytes]
        given, taken = _addresses(inputs), _addresses(outputs)
        self._check(self._library.host_run(given, taken, samples, first, varied))
        return outputs

    def reset(self) -> None:
        """See `Running`."""
        self._check(self._library.host_reset())

    def records(self) -> bytes:
        """See `Running`."""
        at = ctypes.c_void_p()
        size = self._library.host_trace(ctypes.byref(at))
        return ctypes.string_at(at, size) if size else b""

    def macs(self) -> int:
        """See `Running`."""
        return int(self._library.host_macs())

    def close(self) -> None:
        """See `Running`."""
        self._end()

    def _check(self, status: int) -> None:
        if status != 0:
            what = self._library.host_failed().decode()
            raise ProgramError(f"the program failed: {what} {status}", _REMEDY)


def _addresses(arrays: Sequence[NDArray[Any]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


def _unload(library: ctypes.CDLL) -> None:
    library.host_close()
    with contextlib.suppress(ImportError, AttributeError):  # else it stays until the process ends
        import _ctypes

        getattr(_ctypes, "FreeLibrary" if os.name == "nt" else "dlclose")(library._handle)


class Apart:
    """A program in a process of its own. Raises ProgramError if it does not start."""

    def __init__(self, program: Path, interface: Interface, timeout: float) -> None:
        """Start `program`; each of its answers must come within `timeout` seconds."""
        self.interface = interface
        self._timeout = timeout
        self._records: list[bytes] = []
        self._macs = 0
        errors = tempfile.TemporaryFile()  # noqa: SIM115  # for as long as the process lives
        process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Leak checks need ptrace, which sandboxes forbid; generated code allocates nothing.
            env={
                **os.environ,
                "ASAN_OPTIONS": "detect_leaks=0",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            },
        )
        self._errors, self._process = errors, process
        self._end = weakref.finalize(self, _stop, process, errors, os.getpid())
        self._ask(b"", [], ())

    def run(
        self, inputs: Sequence[NDArray[Any]], samples: int, *, first: int = 0, varied: bool = False
    ) -> list[Bytes]:
        """See `Running`."""
        head = _REQUEST.pack(_RUN, samples, first, varied)
        sizes = [samples * size for size in self.interface.output_bytes]
        return self._ask(head, inputs, sizes)

    def reset(self) -> None:
        """See `Running`."""
        self._ask(_REQUEST.pack(_RESET, 0, 0, 0), [], ())

    def records(self) -> bytes:
        """See `Running`."""
        made, self._records = b"".join(self._records), []
        return made

    def macs(self) -> int:
        """See `Running`."""
        return self._macs

    def close(self) -> None:
        """See `Running`."""
        self._end()

    def _ask(
        self, head: bytes, inputs: Sequence[NDArray[Any]], sizes: Sequence[int]
    ) -> list[Bytes]:
        """Send a request and take its reply, with outputs of these sizes in bytes."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(self._timeout, stop)
        timer.start()
        try:
            return self._exchange(head, inputs, sizes)
        except (EOFError, OSError):  # a process that ends closes its pipes
            raise self._failure(late=late.is_set()) from None
        except BaseException:  # interrupted in the middle, it would take a reply for another's
            self._process.kill()
            raise
        finally:
            timer.cancel()

    def _exchange(
        self, head: bytes, inputs: Sequence[NDArray[Any]], sizes: Sequence[int]
    ) -> list[Bytes]:
        into = self._process.stdin
        assert into is not None
        into.write(head)
        for array in inputs:
            into.write(array.data if array.size else b"")
        into.flush()
        size, self._macs = _REPLY.unpack(self._read(_REPLY.size))
        outputs = [np.frombuffer(self._read(each), np.uint8) for each in sizes]
        if size:
            self._records.append(bytes(self._read(size)))
        return outputs

    def _read(self, size: int) -> bytearray:
        made = bytearray(size)
        at, out = 0, self._process.stdout
        assert out is not None
        while at < size:
            count = out.readinto(memoryview(made)[at:])  # type: ignore[attr-defined]  # it is buffered
            if not count:
                raise EOFError
            at += count
        return made

    def _failure(self, *, late: bool) -> ProgramError:
        """What the process said before it ended."""
        if late:
            said = f"the program did not end within {self._timeout:g} s on the host"
            return ProgramError(said, _REMEDY)
        code = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace")
        lines = "\n".join(f"    {line}" for line in text.splitlines()[:_SHOWN_LINES])
        return ProgramError(f"the program failed on the host (exit {code}):\n{lines}", _REMEDY)


def _stop(process: subprocess.Popen[bytes], errors: Any, owner: int) -> None:
    if os.getpid() != owner:  # a copy that a fork made: the program is not its own
        return
    process.kill()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(OSError):  # what it was to be told still
            pipe.close()
    process.wait()
    errors.close()
