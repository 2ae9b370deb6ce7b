"""Amounts of memory as users write them: bytes, or 16K, 16KiB, 2M.

Why no 16KB: to a shop it is 16,000 bytes, to a data sheet 16,384, and a limit must not be a guess.
"""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any, Final

from lowtide.arguments import is_number
from lowtide.errors import UsageError

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE: Final = re.compile(r"([0-9]{1,12}) ?(?:([kKMG])(?:iB)?|B)?", re.ASCII)

FORMS: Final = 'bytes, or a string such as "16K", "16KiB" or "2M"'
"""What `bytes_in` reads, for messages."""


MOST_FILE: Final = 1 << 30
"""Bytes of a model's file, unless the user says otherwise."""


def bytes_in(text: str) -> int | None:
    """ "16384", "16K" or "16KiB" as a number of bytes: units are powers of 1,024; None for any other."""
    match = _SIZE.fullmatch(text)
    return None if match is None else int(match[1]) * _UNITS[(match[2] or "").upper()]


def bytes_of(value: Any, name: str = "it") -> int:
    """The same of a text, and a number as it is. Raises UsageError for what is not a number of bytes,
    which was given as the argument `name`."""
    count: Any = bytes_in(value) if isinstance(value, str) else value
    if not is_number(count, Integral) or count < 0:
        what = "it" if isinstance(value, str) else name  # what is typed may be typed elsewhere
        raise UsageError(
            f"{value!r} is not a number of bytes", f"write {what} as 16384, 16K or 16KiB"
        )
    return int(count)
