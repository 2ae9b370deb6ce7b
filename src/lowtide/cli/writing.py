"""Options that name what a command writes, and --force: one rule for all of them (`lowtide.files`).

Why before the command runs: what cannot be written is said before long work, and only here all files are
known that the command reads. What is written follows the same rule once more, with `replacing`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from lowtide.cli.given import Decorator, Kept, given
from lowtide.errors import UsageError
from lowtide.files import Replacing, check_folder, check_writable
from lowtide.kinds import PICTURE, Kind, table

Early = Callable[[Path, Replacing], None]
"""What is looked at before the command runs. Raises UsageError where the output cannot be written."""

_REPLACING: Final = "lowtide.replacing"


class OutputOption(click.Option):
    """An option that names a file or a folder to write; `early` is asked before the command runs."""

    def __init__(self, *args: Any, early: Early, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.early = early


def a_file(*kinds: Kind) -> Early:
    """A file of one of these kinds."""

    def early(path: Path, replacing: Replacing) -> None:
        replacing.check(path, kinds)
        check_writable(path)

    return early


def a_picture(path: Path, replacing: Replacing) -> None:
    """A picture of a format that its name says."""
    from lowtide.report.picture import format_of

    replacing.check(path, [PICTURE])
    format_of(path.name)
    check_writable(path)


def a_bundle(path: Path, replacing: Replacing) -> None:
    """A folder of generated files."""
    replacing.check_bundle(path)


def by_suffix(kinds: Callable[[], Mapping[str, Kind]]) -> Early:
    """A file whose name's ending says which of `kinds` it is."""

    def early(path: Path, replacing: Replacing) -> None:
        known = kinds()
        if path.suffix not in known:
            raise UsageError(f"the format of {path} is unknown", f"use one of: {', '.join(known)}")
        a_file(known[path.suffix])(path, replacing)

    return early


def tables(columns: Callable[[], Mapping[str, Iterable[str]]]) -> Early:
    """A folder of CSV files, of which `columns` says the names and the columns."""

    def early(folder: Path, replacing: Replacing) -> None:
        check_folder(folder, "name a folder for the tables")
        if folder.is_dir():
            for name, header in columns().items():
                replacing.check(folder / name, [table(header)])

    return early


def output_option(
    flag: str, early: Early, metavar: str, help_text: str, *, required: bool = False
) -> Decorator[Any]:
    """An option that names what is written: of -o, the parameter is `output`."""
    return click.option(
        *([flag, "output"] if flag == "-o" else [flag]),
        cls=OutputOption,
        early=early,
        type=click.Path(path_type=Path),
        metavar=metavar,
        help=help_text,
        required=required,
    )


def force_option() -> click.Option:
    """--force, which `HelpfulCommand` adds to what writes."""
    return Kept(
        ["--force"],
        is_flag=True,
        help="Also replace files that lowtide didn't write, but never one that the command reads.",
    )


def replacing() -> Replacing:
    """What the command that runs may replace."""
    found: Replacing = click.get_current_context().meta.get(_REPLACING, Replacing())
    return found


def check_outputs(context: click.Context) -> None:
    """Hold all that the command shall write against the rule. Raises UsageError."""
    made = Replacing(tuple(_inputs(context)), given("force", False))
    context.meta[_REPLACING] = made
    outputs = [
        (param, context.params[param.name])
        for param in context.command.params
        if isinstance(param, OutputOption) and context.params.get(param.name or "") is not None
    ]
    seen: dict[str, str] = {}
    for param, path in outputs:
        if "\0" in str(path):
            raise UsageError(f"{str(path)!r} is not a file name", "name a file to write")
        place, option = os.path.realpath(path), param.opts[0]
        if place in seen:
            raise UsageError(
                f"{seen[place]} and {option} both name {path}", "name a different file for each"
            )
        seen[place] = option
        param.early(path, made)


def _inputs(context: click.Context) -> Iterator[Path]:
    """The files and folders that the command reads, as far as its words name them."""
    for param in context.command.params:
        if isinstance(param.type, click.Path) and not isinstance(param, OutputOption):
            value = context.params.get(param.name or "", given(param.name or ""))
            for name in value if isinstance(value, tuple) else (value,):
                if name is not None and "\0" not in str(name):
                    yield Path(str(name).removeprefix("@"))  # a list, to `lowtide sweep`
