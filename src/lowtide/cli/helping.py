"""How commands help: examples, options in groups, and what a shell completes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from lowtide.cli.writing import OutputOption, check_outputs, force_option
from lowtide.commands.option import GROUPS

_EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "analyze": ("model.tflite", "zoo:ds-cnn-kws --plot memory.png", "model.tflite --json"),
    "reorder": (
        "model.tflite -o smaller.tflite",
        "model.tflite -o smaller.tflite --offline-plan",
        "zoo:figure1 -o figure1.tflite --always-write",
    ),
    "simplify": (
        "model.tflite -o simpler.tflite",
        "model.tflite -o simpler.tflite --reorder",
        "zoo:ds-cnn-kws -o kws.tflite --always-write",
    ),
    "quantize": (
        "float.tflite -o model.tflite --data samples.npz",
        "float.tflite -o model.tflite --data photographs/ --input-type uint8",
        "float.tflite -o trial.tflite --random",
    ),
    "plan": (
        "model.tflite --front",
        "model.tflite --input streamed --plot rows.png",
        "model.tflite --max-ram 16K -o plan.json",
    ),
    "report": (
        "model.tflite -o report.html",
        "model.tflite -o report.html --board mps2-an386",
        "model.tflite -o report.html --compare other.tflite",
    ),
    "compile": (
        "model.tflite -o model",
        "model.tflite -o model --input streamed --core cortex-m4",
        "model.tflite -o library --export arduino",
    ),
    "verify": (
        "model.tflite",
        "model.tflite --input streamed --samples 20",
        "zoo:streaming-wake-word",
    ),
    "prove": (
        "model.tflite -o certificate.json",
        "model.tflite --bundle build/model -o certificate.json",
        "model.tflite --bundle build/model --check certificate.json",
    ),
    "run": (
        "model.tflite --board mps2-an386",
        "model.tflite --board mps2-an386 --profile",
        "model.tflite --board microbit --max-ram 12K",
    ),
    "evaluate": (
        "model.tflite --data samples.npz --labels labels.npy",
        "model.tflite --data samples.npz --against float.tflite",
        "model.tflite --data photographs/ --input-type uint8",
    ),
    "check": (
        "model.tflite --max-total-ram 20K --max-flash 256K",
        "model.tflite --board mps2-an386 -o baseline.json",
        "model.tflite --baseline baseline.json --tolerance 2%",
    ),
    "fit": (
        "model.tflite",
        "model.tflite --mcu STM32L4,RP2040",
        "model.tflite other.tflite --mcu NRF52",
    ),
    "sweep": (
        "candidates/ -o results.csv",
        "candidates/ -o results.parquet --jobs 2",
        "candidates/ -o results.jsonl --engine dask",
    ),
    "zoo": ("", "--json", "figure1 -o figure1.tflite"),
    "boards": ("", "--json", "--board-file my-boards.toml"),
    "ops": ("", "--against tflm", "--json"),
}
"""Command -> what may follow it, from the plainest."""

_WORDS: Final = "lowtide.words"


def words_given() -> Sequence[str]:
    """What was typed after the command's name."""
    words: Sequence[str] = click.get_current_context().meta.get(_WORDS, ())
    return words


class HelpfulCommand(click.Command):
    """A command whose help shows examples, and its options in groups; one that writes has --force."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        outputs = [at for at, param in enumerate(self.params, 1) if isinstance(param, OutputOption)]
        if outputs:
            self.params.insert(outputs[-1], force_option())

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The same for each command, also where no group has called it."""
        del ctx
        return ["-h", "--help"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The same, and what was typed is kept."""
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """The same, once it is sure that nothing is in the way of what is written."""
        check_outputs(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments are in the usage; options stand below the titles of their groups."""
        found: dict[str, list[tuple[str, str]]] = {"": [], **{title: [] for title in GROUPS}}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                found[getattr(param, "group", "")].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title or "Options"):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What a MODEL is, and examples."""
        super().format_epilog(ctx, formatter)
        examples = _EXAMPLES.get(ctx.info_name or "", ())
        if examples:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"  {ctx.command_path} {example}".rstrip() + "\n")


class HelpfulGroup(click.Group):
    """Lists its commands in the order of use, not of the alphabet."""

    command_class = HelpfulCommand

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """In the order in which they were added."""
        return list(self.commands)


class ModelName(click.Path):
    """A .tflite file, or zoo:NAME; completed as both."""

    def __init__(self) -> None:
        super().__init__(path_type=str)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Networks of the zoo where that has begun, else files."""
        if incomplete.startswith("zoo:") or (incomplete and "zoo:".startswith(incomplete)):
            from lowtide.zoo import names

            return [
                CompletionItem(f"zoo:{n}") for n in names() if f"zoo:{n}".startswith(incomplete)
            ]
        return super().shell_complete(ctx, param, incomplete)


def complete_boards(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The boards that begin so."""
    from lowtide.machines.board import load_boards

    return [name for name in sorted(load_boards(None)) if name.startswith(incomplete)]


def complete_cores(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The cores that begin so."""
    from lowtide.machines.board import targets

    return [name for name in sorted(targets()) if name.startswith(incomplete)]


def complete_mcus(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The microcontrollers that begin so, in any case."""
    from lowtide.machines.mcus import load_mcus

    return [name for name in sorted(load_mcus()) if name.startswith(incomplete.upper())]


BASH: Final = """\
_lowtide_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$' \\t\\n' words reply type value
    read -ra words <<< "$line"
    local count=${#words[@]} last=""
    if [[ $line != *[[:space:]] ]]; then
        count=$((count - 1))
        last=${words[count]}
    fi
    local before=""
    if [[ $COMP_WORDBREAKS == *:* && $last == *:* ]]; then
        before="${last%:*}:"
    fi
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done < <(COMP_WORDS="$line" COMP_CWORD=$count _LOWTIDE_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _lowtide_completion lowtide
"""
"""What bash evaluates. Not click's own: bash parts words at ":", which names of networks have, and wants
only what follows the last one back."""
