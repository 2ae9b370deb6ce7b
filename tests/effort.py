"""What a call costs, counted: the same on every machine and under any load, as no clock is.

Why calls: everything that grows in Python calls something, a function or a built-in, so a search that
should not run, or a loop inside of a loop, shows in their number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def calls(function: Callable[[], object]) -> int:
    """How many functions, Python's own among them, are called while `function` runs."""
    count = 0

    def event(_frame: FrameType, kind: str, _argument: object) -> None:
        nonlocal count
        count += kind in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(event)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


class TooMuchError(BaseException):
    """More calls than were allowed; no Exception, so that nothing takes it for an answer."""


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Raise TooMuchError, wherever that is, once more than `count` functions were called."""
    left = count

    def event(_frame: FrameType, kind: str, _argument: object) -> None:
        nonlocal left
        left -= kind in ("call", "c_call")
        if left < 0:
            sys.setprofile(None)
            raise TooMuchError(f"more than {count} calls")

    before = sys.getprofile()
    sys.setprofile(event)
    try:
        yield
    finally:
        sys.setprofile(before)
