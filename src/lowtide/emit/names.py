"""Which names a program may have: a C identifier that neither C, POSIX nor the runtime has taken.

Why files count too: NAME.h lies beside the kernels, and `#include <string.h>` finds a string.h that
lies on the include path before the library's.
"""

from __future__ import annotations

import re
from pathlib import Path

from lowtide.errors import UsageError
from lowtide.tflite.foreign import SUFFIXES

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline
int long main register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while
"""
_RESERVED = frozenset(_KEYWORDS.split())

# name_t must not be a type of stddef.h, stdint.h, wchar.h or POSIX.
_WIDTHS = [f"{kind}{bits}" for kind in ("int", "int_least", "int_fast") for bits in (8, 16, 32, 64)]
_LIBRARY = (
    "intptr intmax size ssize ptrdiff wchar wint max_align time clock off pid uid gid mode dev"
)
_TYPES = frozenset([*_WIDTHS, *(f"u{name}" for name in _WIDTHS), "uintptr", "uintmax"])
_TAKEN = _RESERVED | _TYPES | frozenset(_LIBRARY.split())

_C99 = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool
stddef stdint stdio stdlib string tgmath time wchar wctype
"""
_LATER = "stdalign stdatomic stdnoreturn threads uchar stdbit stdckdint"
_POSIX = """
aio cpio devctl dirent dlfcn endian fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen libintl
monetary mqueue ndbm netdb nl_types poll pthread pwd regex sched search semaphore spawn strings
stropts syslog tar termios trace ulimit unistd utime utmpx wordexp
"""
# Of C libraries, which their own headers include: glibc, newlib, picolibc.
_INNER = """
alloca alltypes ansidecl byteswap bits features features_time64 gnu_versions malloc memory newlib
picolibc reent stdc_predef sysexits values varargs _ansi _newlib_version unctrl ieeefp
"""
HEADERS = frozenset(f"{_C99} {_LATER} {_POSIX} {_INNER}".split())
"""Headers of C, POSIX and C libraries, without .h: no program's header may be called so."""


def c_name(text: str) -> str:
    """`text` made a C identifier in lower case."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "model"
    return f"m_{name}" if name[0].isdigit() or _why_not(name) else name


def stem(path: str) -> str:
    """The name of a network's file without its ending, or of a built-in network."""
    name = Path(path.removeprefix("zoo:"))
    return name.stem if name.suffix.lower() in (".tflite", *SUFFIXES) else name.name


def program_name(given: str | None, path: str) -> str:
    """What a program is called: the name that is `given`, checked, or one made of its file's."""
    return c_name(stem(path)) if given is None else check_name(given)


def check_name(name: str) -> str:
    """`name` itself if it is a C identifier that is free; else raises UsageError."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name in _RESERVED:
        raise UsageError(
            f"{name!r} cannot be a C identifier",
            f"use letters, digits and _, such as {c_name(name)}",
        )
    problem = _why_not(name)
    if problem:
        raise UsageError(f"{name!r} {problem}", "choose another name")
    return name


def _why_not(name: str) -> str:
    """What a name would meet, or a file of that name; "" if nothing. File names may ignore case."""
    low = name.lower()
    if low in ("lt", "lowtide") or low.startswith(("lt_", "lowtide_")):
        return "is a name that the runtime uses"
    if name in _TAKEN:
        return f"would redefine the C type {name}_t"
    if low in HEADERS:
        return f"would hide the system's header <{low}.h>"
    return ""
