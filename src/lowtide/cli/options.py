"""What several commands share: their arguments and options, and progress on stderr."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from lowtide.sizes import bytes_in

_Command = TypeVar("_Command", bound=Callable[..., Any])
MODEL_HELP = "MODEL is a .tflite file, or zoo:NAME (see `lowtide zoo`)."


class Factor(click.FloatRange):
    """A factor; nan is in no range, though it is neither below nor above one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).lower().strip("+-") == "nan":
            self.fail(f"{value} is no number.", param, ctx)
        return super().convert(value, param, ctx)


class Bytes(click.types.IntParamType):
    """A number of bytes: 16384, 16K or 16KiB."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        count = value if isinstance(value, int) else bytes_in(str(value))
        if count is None:
            self.fail(f"{value!r} is no number of bytes, such as 16384, 16K or 16KiB.", param, ctx)
        return count


model_argument = click.argument("model", metavar="MODEL")
json_option = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
effort_option = click.option(
    "--effort",
    type=Factor(min=0.001, max=1000),
    default=1.0,
    show_default=True,
    metavar="F",
    help="How much work searches may do, times the usual. It is counted, never timed.",
)


def file_option(
    *names: str, metavar: str, help_text: str, required: bool = False
) -> Callable[[_Command], _Command]:
    """An option that names a file or a folder."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar=metavar, help=help_text, required=required)


def out_option(help_text: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """-o, the .tflite file to write, as `output`.

    --output, its name of old, is where a program's outputs are: it still names the file where there is
    no program, and says so.
    """
    key = "lowtide.output"

    def old(context: click.Context, _: click.Parameter, value: Path | None) -> None:
        if value is not None:
            with contextlib.suppress(OSError):
                note = "-o names the file to write; --output is its old name"
                print(f"lowtide: {note}", file=sys.stderr)
            context.meta[key] = value

    def new(context: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
        named: Path | None = value if value is not None else context.meta.get(key)
        if named is None and required:
            raise click.MissingParameter(ctx=context, param=option)
        return named

    kind = click.Path(path_type=Path)
    other: Any = {"is_eager": True, "hidden": True, "expose_value": False, "callback": old}
    before = click.option("--output", "old_output", type=kind, **other)
    more = f"{help_text}  [required]" if required else help_text
    after = click.option("-o", "output", type=kind, metavar="OUT", help=more, callback=new)
    return lambda command: after(before(command))


FIRST_WAIT = 2.0
NEXT_WAIT = 5.0
"""Seconds after which it is said what is going on, and said again."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Say on stderr what is going on, once it takes longer than FIRST_WAIT.

    What it gives can be told in more detail what that is.
    """
    stop = threading.Event()
    begin = time.monotonic()
    detail = [""]

    def tell() -> None:
        wait = FIRST_WAIT
        while not stop.wait(wait):
            now = f"{what}{detail[0]} ({time.monotonic() - begin:.0f} s)"
            with contextlib.suppress(OSError):  # nobody listens any more
                print(f"lowtide: {now}", file=sys.stderr, flush=True)
            wait = NEXT_WAIT

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()

    def more(text: str) -> None:
        detail[0] = f": {text}"

    try:
        yield more
    finally:
        stop.set()
        thread.join()
