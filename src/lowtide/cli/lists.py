"""The commands that list what there is to choose from: boards, ops, and completion for shells."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.given import given
from lowtide.cli.helping import BASH, HelpfulCommand
from lowtide.cli.options import answer, file_option, json_option
from lowtide.errors import UsageError


@click.command(cls=HelpfulCommand)
@file_option("--board-file", "FILE", "A TOML file with your own boards.")
@click.option("--mcus", is_flag=True, help="List microcontrollers instead, for --mcu.")
@json_option
def boards(board_file: Path | None, mcus: bool) -> None:
    """List the boards that `lowtide run` knows, or microcontrollers."""
    if mcus:
        _list_mcus()
        return
    from lowtide.machines.board import board_rows, boards_document, load_boards
    from lowtide.report import text

    known = load_boards(board_file)
    columns = ("name.", "core.", "RAM", "flash", "machine.", "description.")
    answer(lambda: boards_document(known), lambda: text.table("", columns, board_rows(known)))


def _list_mcus() -> None:
    from dataclasses import asdict

    from lowtide.machines.board import size_text
    from lowtide.machines.mcus import load_mcus
    from lowtide.report import text

    known = load_mcus().values()
    rows = [
        (
            mcu.name,
            mcu.core,
            size_text(mcu.ram_bytes),
            "external" if mcu.external else size_text(mcu.flash_bytes),
            mcu.source if mcu.confirmed else f"unconfirmed: {mcu.source}",
        )
        for mcu in known
    ]
    answer(
        lambda: {"schema": "lowtide.mcus/1", "mcus": [asdict(mcu) for mcu in known]},
        lambda: text.table("", ("part.", "core.", "RAM", "flash", "source."), rows),
    )


@click.command(cls=HelpfulCommand)
@click.option(
    "--against",
    type=click.Choice(["tflm"]),
    help="Compare with TensorFlow Lite Micro, and show what is missing.",
)
@click.option(
    "--markdown", is_flag=True, help="With --against: print Markdown, as in docs/operators.md."
)
@json_option
def ops(against: str | None, markdown: bool) -> None:
    """List the operators that compile, and their types."""
    from lowtide.lower import CUSTOM, LOWERINGS
    from lowtide.report import text

    if markdown and (against is None or given("as_json")):
        raise UsageError(
            "--markdown prints the comparison with TFLM", "add --against tflm, and leave out --json"
        )
    if against is not None:
        from lowtide.commands.operators import against_tflm
        from lowtide.report import operators as page

        compared = against_tflm()
        if markdown:
            print(page.compared_markdown(compared), end="")
        else:
            answer(lambda: page.compared_document(compared), lambda: page.compared_text(compared))
        return
    rows = [
        (name, sorted(kind.name.lower() for kind in lowering.types))
        for name, lowering in sorted({**LOWERINGS, **CUSTOM}.items())
    ]
    lines = [(name, ", ".join(types)) for name, types in rows]
    answer(
        lambda: {
            "schema": "lowtide.ops/1",
            "operators": [{"type": name, "activations": types} for name, types in rows],
        },
        lambda: text.table("", ("operator.", "activations."), lines),
    )


@click.command(cls=HelpfulCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the shell-completion script.

    \b
    In ~/.bashrc:                    eval "$(lowtide completion bash)"
    In ~/.zshrc, after compinit:     eval "$(lowtide completion zsh)"
    In ~/.config/fish/config.fish:   lowtide completion fish | source
    """
    from click.shell_completion import get_completion_class

    if shell == "bash":
        print(BASH, end="")
        return
    made = get_completion_class(shell)
    assert made is not None
    print(
        made(
            click.get_current_context().find_root().command, {}, "lowtide", "_LOWTIDE_COMPLETE"
        ).source()
    )
