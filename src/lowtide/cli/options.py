"""What several commands share: their arguments and options, and progress on stderr."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowtide.cli.given import Decorator, given, kept
from lowtide.cli.helping import HelpfulCommand, ModelName
from lowtide.commands.option import WHAT
from lowtide.effort import Budget, watched
from lowtide.errors import UsageError
from lowtide.sizes import MOST_FILE, bytes_of

if TYPE_CHECKING:
    from lowtide.ir import Model

MODEL_HELP = "MODEL is a .tflite file, or zoo:NAME (see `lowtide zoo`)."


class Factor(click.FloatRange):
    """A factor; nan is in no range, though it is neither below nor above one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).lower().strip("+-") == "nan":
            self.fail(f"{value} is not a number.", param, ctx)
        return super().convert(value, param, ctx)


class Bytes(click.types.IntParamType):
    """A number of bytes: 16384, 16K or 16KiB."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return bytes_of(value)
        except UsageError as error:
            self.fail(f"{error.cause}, such as 16384, 16K or 16KiB.", param, ctx)


class Instructions(click.types.IntParamType):
    """A number of instructions: 10000000, 10M or 1.5M."""

    name = "instructions"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        match = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?(M?)", str(value), re.ASCII)
        if match is None or (match[2] and not match[3]):
            self.fail(f"{value!r} is not a number of instructions, such as 10M (10^6).", param, ctx)
        factor = 1_000_000 if match[3] else 1
        return int(Fraction(f"{match[1]}.{match[2] or 0}") * factor)


class Share(click.types.StringParamType):
    """A share as a `Fraction`: 2% or 0.02. A bare number of 1 or more is refused: 5 means 5% to one and
    500% to another."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        match = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(%?)", str(value), re.ASCII)
        if match is None:
            self.fail(f"{value!r} is not a fraction, such as 2% or 0.02.", param, ctx)
        if not match[2] and Fraction(match[1]) >= 1:
            percent = f"{float(match[1]) * 100:g}"
            self.fail(f"{value!r} can mean {value}% or {percent}%: write one of these.", param, ctx)
        return Fraction(match[1]) / (100 if match[2] else 1)


class Range(click.types.StringParamType):
    """Two numbers as LOW:HIGH."""

    name = "range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            low, high = map(float, str(value).split(":"))
            if low < high:
                return low, high
        except ValueError:
            pass
        return self.fail(f"{value!r} is not a range of numbers, such as -1:1.", param, ctx)


max_file_option = kept(
    "--max-file",
    type=Bytes(),
    default=MOST_FILE,
    metavar="BYTES",
    help="Refuse larger model files (default: 1G).",
)
"""Followed by `load`."""


json_option = kept("--json", "as_json", is_flag=True, help="Print a JSON document.")
"""Followed by `answer`."""


def model_command(name: str | None = None) -> Decorator[Any]:
    """A command on a MODEL, with how large its file may be, and --json."""

    def decorate(function: Any) -> click.Command:
        function = max_file_option(json_option(function))
        function = click.argument("model", metavar="MODEL", type=ModelName())(function)
        return click.command(name, cls=HelpfulCommand, epilog=MODEL_HELP)(function)

    return decorate


image_range_option = click.option(
    "--image-range",
    type=Range(),
    default="0:1",
    show_default=True,
    metavar="LOW:HIGH",
    help="The input values that pixels 0 and 255 stand for.",
)


def part_options(command: Any) -> Any:
    """--from and --until, which `load` follows."""
    of: Any = {"multiple": True, "metavar": "TENSORS", "group": WHAT}
    begin = (
        "Take the part of the network that begins with these tensors: numbers or names, separated by "
        "commas."
    )
    until = kept("--until", **of, help="Take the part that ends with these tensors.")
    return kept("--from", "begin", **of, help=begin)(until(command))


def load(model: str) -> Model:
    """The model that a command's argument names, or the part of it that its options say.

    Raises as `lowtide.load`, and UsageError for a part that cannot be.
    """
    from lowtide.commands import cutting
    from lowtide.zoo import loading

    loaded = loading.load(model, max_file=given("max_file", MOST_FILE))
    begin, until = (
        [name for text in given(end, ()) for name in cutting.names_in(text, loaded.graph)]
        for end in ("begin", "until")
    )
    return cutting.part_of(loaded, begin, until)


def file_option(
    flag: str, metavar: str, help_text: str, *, required: bool = False
) -> Decorator[Any]:
    """An option that names a file or a folder to read."""
    kind = click.Path(path_type=Path)
    return click.option(flag, type=kind, metavar=metavar, help=help_text, required=required)


def answer(document: Callable[[], dict[str, Any]], text: Callable[[], str]) -> None:
    """Print the JSON document, if --json asks for it, or else the text."""
    if given("as_json"):
        from lowtide.report.data import to_json

        print(to_json(document()))
    else:
        show(text())


def show(text: str) -> None:
    """Print `text` on standard output, no wider than the terminal."""
    from lowtide.report.terminal import fitted

    print(fitted(text))


FIRST_WAIT = 2.0
IN_PLACE_WAIT = 0.5
"""Seconds after which a terminal is told what is going on, and told again, in place."""
FILE_FACTOR = 5
NEXT_WAIT = 30.0
"""A file or a pipe has that only after so many times as long, and then a line every so many seconds."""
_LEAST_PART = 0.02
"""Of less than that part of the effort nobody can tell how long the rest will take."""


class Far:
    """How far the search is that goes on, by the effort that is counted."""

    def __init__(self) -> None:
        self._now: Budget | None = None
        self._begin = 0.0

    def begun(self, budget: Budget) -> None:
        """Another search began."""
        self._now, self._begin = budget, time.monotonic()

    def text(self) -> str:
        """The part of its effort that is spent, and how long the rest takes at most; or ""."""
        part = 0.0 if self._now is None else self._now.part_spent
        if not _LEAST_PART <= part < 1:
            return ""
        left = (time.monotonic() - self._begin) * (1 - part) / part
        return f"; {part:.0%} of this search's effort, at most {left:.0f} s more"


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Say on stderr what is going on once it takes long, on a terminal in one line, elsewhere only once
    it takes very long.

    What it gives can be told in more detail what that is.
    """
    in_place = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    said = [False]
    stop = threading.Event()
    begin = time.monotonic()
    detail = [""]
    far = Far()

    def tell() -> None:
        wait = FIRST_WAIT if in_place else FILE_FACTOR * FIRST_WAIT
        while not stop.wait(wait):
            now = f"{what}{detail[0]} ({time.monotonic() - begin:.0f} s{far.text()})"
            with contextlib.suppress(OSError):  # nobody listens any more
                _say(f"lowtide: {now}", in_place)
                said[0] = True
            wait = IN_PLACE_WAIT if in_place else NEXT_WAIT

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()

    def more(text: str) -> None:
        detail[0] = f": {text}"

    try:
        with watched(far.begun):
            yield more
    finally:
        stop.set()
        thread.join()
        if in_place and said[0]:
            with contextlib.suppress(OSError):
                _say("", in_place)


def _say(text: str, in_place: bool) -> None:
    """A line on stderr; in place: over the one before."""
    if in_place:
        print(f"\r\x1b[K{text[: _across() - 1]}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def _across() -> int:
    """Columns of the terminal behind standard error: standard output may go elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size((80, 24)).columns
