"""The command line: arguments in, one pipeline call, a report out.

Data goes to stdout, progress and errors to stderr. Exit codes: see `lowtide.errors`.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import TextIO

import click

from lowtide.cli import checks, deploy, evaluating, lists, many, network, proving, quantizing
from lowtide.cli.helping import HelpfulGroup
from lowtide.errors import FaultError, LowtideError, UsageError


@click.group(
    cls=HelpfulGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="lowtide", message="lowtide %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Run a quantised .tflite network in the least RAM, with bit-exact outputs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    network.analyze,
    network.reorder,
    network.simplify,
    deploy.plan,
    deploy.report,
    deploy.compile_command,
    checks.verify,
    checks.run,
    evaluating.evaluate,
    checks.check,
    proving.prove,
    many.fit,
    many.sweep,
    quantizing.quantize,
    network.zoo,
    lists.boards,
    lists.ops,
    lists.completion,
):
    app.add_command(_command)


_MANY = 50_000
"""New objects between two searches for those that hold each other: a command makes hundreds of thousands
that last until it ends, and 700, Python's own number, cost it 6 % of its time."""


def main() -> None:
    """Run the command line; every error meant for the user is one message and an exit code."""
    gc.set_threshold(_MANY)
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names in the model may be in any script
            stream.reconfigure(errors="backslashreplace")
    try:
        if "_LOWTIDE_COMPLETE" in os.environ:  # a shell asks what may follow
            app(prog_name="lowtide")
        # Not app(): click would take a closed pipe for an error.
        with app.make_context("lowtide", sys.argv[1:]) as context:
            app.invoke(context)
        sys.stdout.flush()
        code = 0
    except click.exceptions.Exit as done:  # after --help or --version
        sys.stdout.flush()
        code = done.exit_code
    except FaultError as error:
        code = _fault(error)
    except LowtideError as error:
        _message(str(error))
        code = error.exit_code
    except click.ClickException as error:
        where = error.ctx if isinstance(error, click.UsageError) else None
        command = where.command_path if where else _command_named()
        cause = error.format_message().rstrip(".").replace("\n", " ")
        _message(f"{cause}\n  remedy: see `{command} --help`")
        code = UsageError.exit_code
    except (KeyboardInterrupt, click.Abort):
        _message("interrupted")
        code = 130
    except BrokenPipeError:  # the reader of our output has seen enough (`| head`)
        _drop(sys.stdout)
        code = 0
    except OSError as error:
        _drop(sys.stdout)
        _message(
            f"cannot write the result: {error.strerror or error}\n"
            "  remedy: check where standard output goes"
        )
        code = UsageError.exit_code
    except Exception as error:  # whatever slipped through: a fault of ours
        code = _fault(error)
    sys.exit(code)


def _fault(error: Exception) -> int:
    """Say that lowtide has failed; returns the exit code."""
    from lowtide.cli.faults import FAULT, fault_message  # imports much that is hardly ever needed

    _message(fault_message(error, sys.argv[1:]))
    return FAULT


def _command_named() -> str:
    """The command that the arguments name, where click does not tell."""
    name = next((word for word in sys.argv[1:] if word in app.commands), None)
    return f"lowtide {name}" if name else "lowtide"


def _open_closed() -> None:
    """Have standard output and error, also where they were closed before lowtide started (`2>&-`).

    Else the next file that is opened would be taken for one of them. What is written to an output that
    was closed is an error, as on a full disk; messages may be lost.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _message(text: str) -> None:
    """To standard error, if that can be written to: whether it can does not change the exit code."""
    from lowtide.report.terminal import fitted

    try:
        print(fitted(f"lowtide: {text}"), file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """Let the interpreter's last flush go nowhere: the stream cannot be written to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
