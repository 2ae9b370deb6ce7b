"""The command line: arguments in, one pipeline call, a report out.

Data goes to stdout, progress and errors to stderr. Exit codes: see `lowtide.errors`.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from lowtide import __version__
from lowtide.errors import LowtideError, UsageError
from lowtide.files import check_writable, make_folder, write_atomically


class _Seconds(click.FloatRange):
    """A time limit; nan is in no range, though it is neither below nor above one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).lower().strip("+-") == "nan":
            self.fail(f"{value} is no number.", param, ctx)
        return super().convert(value, param, ctx)


_Command = TypeVar("_Command", bound=Callable[..., Any])
_MODEL_HELP = "MODEL is a .tflite file, or zoo:NAME (see `lowtide zoo`)."


class _Group(click.Group):
    """Lists its commands in the order of use, not of the alphabet."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="lowtide", message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Run a quantised .tflite network in the least RAM, bit for bit the same."""
    if context.invoked_subcommand is None:
        raise UsageError("no command is given", "see `lowtide --help`")


_model = click.argument("model", metavar="MODEL")
_json = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
_seconds = click.option(
    "--seconds",
    type=_Seconds(min=0.1),
    default=20.0,
    show_default=True,
    help="Time limit of the search for the best order.",
)


def _file(
    *names: str, metavar: str, help_text: str, required: bool = False
) -> Callable[[_Command], _Command]:
    """An option that names a file or a folder."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar=metavar, help=help_text, required=required)


@app.command(epilog=_MODEL_HELP)
@_model
@_json
@_file("--csv", metavar="DIR", help_text="Write the tables as CSV files into DIR.")
@_file("--plot", metavar="FILE", help_text="Draw the working set over time: FILE.png or .svg.")
@_seconds
def analyze(model: str, as_json: bool, csv: Path | None, plot: Path | None, seconds: float) -> None:
    """Show where a network's RAM goes, and what a better operator order would save."""
    from lowtide import pipeline
    from lowtide.report import data, picture, text

    if plot is not None:
        picture_format = picture.format_of(plot.name)
        check_writable(plot)
    loaded = pipeline.load(model)
    with _progress("searching for the best order"):
        result = pipeline.analyze(loaded, seconds=seconds)
        placements = pipeline.place_tensors(loaded.graph, result.best.order)
    if csv is not None:
        make_folder(csv)
        for name, content in data.analysis_csv(result).items():
            write_atomically(csv / name, content.encode())
    if plot is not None:
        write_atomically(plot, picture.analysis_picture(result, picture_format))
    if as_json:
        print(data.to_json(data.analysis_document(result, placements)))
    else:
        print(text.analysis_text(result, placements))


@app.command(epilog=_MODEL_HELP)
@_model
@_file("-o", "--output", metavar="OUT", help_text="The .tflite file to write.", required=True)
@click.option(
    "--offline-plan", is_flag=True, help="Also store tensor offsets, as metadata that TFLM honours."
)
@click.option(
    "--check/--no-check",
    default=True,
    help="Prove every tensor the same with the reference kernels (default), or do not.",
)
@_json
@_seconds
def reorder(
    model: str, output: Path, offline_plan: bool, check: bool, as_json: bool, seconds: float
) -> None:
    """Write the model with its operators in the order of least peak memory, all else untouched."""
    from lowtide import pipeline
    from lowtide.report import data, text

    check_writable(output)
    loaded = pipeline.load(model)
    with _progress("searching for the best order and checking the result"):
        result = pipeline.reorder(loaded, offline_plan=offline_plan, check=check, seconds=seconds)
    result.write(output)
    if as_json:
        print(data.to_json(data.reordered_document(result, str(output))))
    else:
        print(text.reordered_text(result))
        print(f"Wrote {output}.")


@app.command()
@click.argument("name", required=False)
@_file("-o", "--output", metavar="OUT", help_text="Write the network NAME to this .tflite file.")
@_json
def zoo(name: str | None, output: Path | None, as_json: bool) -> None:
    """List the built-in networks, or write one as a .tflite file."""
    from lowtide import zoo as networks
    from lowtide.report import data

    if (name is None) != (output is None):
        raise UsageError(
            "writing a network takes both its name and a file",
            "use `lowtide zoo NAME -o OUT.tflite`, or `lowtide zoo` alone to list them",
        )
    if name is not None and output is not None:
        check_writable(output)
        write_atomically(output, networks.build(name.removeprefix("zoo:")))
        print(f"Wrote {output}.")
        return
    rows = [{"name": n, "description": networks.describe(n)} for n in networks.names()]
    if as_json:
        print(data.to_json({"schema": "lowtide.zoo/1", "networks": rows}))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        print(f"zoo:{row['name']:<{width}}  {row['description']}")


@contextmanager
def _progress(what: str) -> Iterator[None]:
    """Say on stderr what is going on, once it takes longer than two seconds."""
    stop = threading.Event()
    begin = time.monotonic()

    def tell() -> None:
        wait = 2.0
        while not stop.wait(wait):
            print(
                f"lowtide: {what} ({time.monotonic() - begin:.0f} s)", file=sys.stderr, flush=True
            )
            wait = 5.0

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def main() -> None:
    """Run the command line; every error meant for the user is one message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names in the model may be in any script
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not app(): click would take a closed pipe for an error.
        with app.make_context("lowtide", sys.argv[1:]) as context:
            app.invoke(context)
        sys.stdout.flush()
        code = 0
    except click.exceptions.Exit as done:  # after --help or --version
        sys.stdout.flush()
        code = done.exit_code
    except LowtideError as error:
        _message(str(error))
        code = error.exit_code
    except click.ClickException as error:
        where = error.ctx if isinstance(error, click.UsageError) else None
        command = where.command_path if where else "lowtide"
        cause = error.format_message().rstrip(".").replace("\n", " ")
        _message(f"{cause}\n  remedy: see `{command} --help`")
        code = UsageError.exit_code
    except (KeyboardInterrupt, click.Abort):
        _message("interrupted")
        code = 130
    except BrokenPipeError:  # the reader of our output has seen enough (`| head`)
        _drop_output()
        code = 0
    except OSError as error:
        _drop_output()
        _message(
            f"cannot write the result: {error.strerror or error}\n"
            "  remedy: check where standard output goes"
        )
        code = UsageError.exit_code
    sys.exit(code)


def _message(text: str) -> None:
    print(f"lowtide: {text}", file=sys.stderr)


def _drop_output() -> None:
    """Let the interpreter's last flush go nowhere: standard output cannot be written to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
