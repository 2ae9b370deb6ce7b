"""All kernels as one library of this process, and how they are called.

Why with traps instead of messages: undefined behaviour becomes a signal, which is caught in the process
where it happens, as an access to a guard page is.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lowtide.emit.runtime import kernel_files
from lowtide.machines.finding import find_compiler

_FLAGS = (
    *("-std=gnu99", "-O1", "-g1", "-fPIC", "-shared", "-fno-builtin-malloc"),
    *("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"),
)
_ROW = re.compile(r"void (lt_\w+)\(const void \*params, const lt_step \*step\);")


class Fault(ctypes.Structure):
    """cases_fault of guard.c."""

    _fields_ = (
        ("signal", ctypes.c_int64),
        ("step", ctypes.c_int64),
        ("address", ctypes.c_uint64),
        ("pc", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """The loaded library, and its file."""

    path: Path
    calls: ctypes.CDLL

    def kernel(self, name: str) -> int:
        """Where a function is."""
        address = ctypes.cast(getattr(self.calls, name), ctypes.c_void_p).value
        assert address is not None
        return address

    def line(self, pc: int) -> str:
        """The source line of an instruction of it."""
        base = 0
        for line in Path("/proc/self/maps").read_text().splitlines():
            if line.endswith(str(self.path)):
                base = int(line.split("-", 1)[0], 16)
                break
        command = ["addr2line", "-e", str(self.path), hex(pc - base)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return said.strip().rsplit("/", 1)[-1]


def kernels() -> frozenset[str]:
    """The names of all kernels that headers declare."""
    texts = kernel_files().items()
    return frozenset(n for name, text in texts if name.endswith(".h") for n in _ROW.findall(text))


def kernel_sources(*own: str) -> dict[str, str]:
    """All files of the runtime, and files of this folder: name -> text."""
    folder = Path(__file__).parent
    return {**kernel_files(), **{name: (folder / name).read_text() for name in ("guard.c", *own)}}


@cache
def library() -> Library:
    """The kernels of this checkout."""
    return build(kernel_sources())


def build(files: Mapping[str, str]) -> Library:
    """A library of C files, compiled when one of them has changed."""
    compiler = find_compiler("host")
    parts = [*compiler, *_FLAGS, *(part for item in sorted(files.items()) for part in item)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / "lowtide-cases" / digest / "kernels.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as name:
            folder = Path(name)
            for file, text in files.items():
                (folder / file).write_text(text)
            sources = sorted(file for file in files if file.endswith(".c"))
            command = [*compiler, *_FLAGS, "-I.", *sources, "-lm", "-o", "kernels.so"]
            subprocess.run(command, cwd=folder, check=True)
            (folder / "kernels.so").replace(path)
    return Library(path, loaded(path))


def loaded(path: Path) -> ctypes.CDLL:
    """A library of the kernels and guard.c, with the types of guard.c's functions."""
    calls = ctypes.CDLL(str(path))
    number, word = ctypes.c_int64, ctypes.c_void_p
    calls.cases_watch.argtypes = (ctypes.c_int,)
    calls.cases_play.argtypes = (
        *(word, word, word, ctypes.c_int, word, ctypes.c_int, word, ctypes.c_int),
        *(ctypes.c_int, ctypes.c_int, word),
    )
    calls.cases_spread.argtypes = (word, word, number, number)
    calls.cases_gather.argtypes = (word, word, number, number)
    calls.cases_fill.argtypes = (word, ctypes.c_int, number, number)
    calls.cases_same.argtypes = (word, word, number, number)
    calls.cases_fence.argtypes = (word, word, word, word, number, ctypes.c_int)
    calls.cases_fence.restype = number
    return calls
