"""The last lines of commands: what to try next, and what would fit where the program does not."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lowtide.cli.given import given, kept
from lowtide.cli.helping import words_given
from lowtide.cli.options import answer, progress
from lowtide.errors import InfeasibleError
from lowtide.sizes import MOST_FILE

if TYPE_CHECKING:
    from lowtide.advice.fitting import Fit
    from lowtide.advice.hints import Hint
    from lowtide.commands.compiling import Compiled
    from lowtide.commands.options import Options
    from lowtide.commands.verdict import Verdict
    from lowtide.ir import Model
    from lowtide.machines.parts import Board

advice_option = kept(
    "--advice/--no-advice",
    "advised",
    default=True,
    help="End with tips that save 3 % or more (default), or don't.",
)
"""Followed by `answer_advised`."""


def cores_to_advise() -> tuple[str, ...]:
    """Cores that may be advised: none where the command says which it is, or that it is Espressif's."""
    from lowtide.advice.hints import CORES

    package = click.get_current_context().params.get("package")
    said = given("target") is not None or given("mcu") is not None or package == "esp-idf"
    return () if said else CORES


def can_be_typed(flags: Sequence[str]) -> bool:
    """Whether the command takes these flags as well: its package may be for whole inputs alone."""
    package = click.get_current_context().params.get("package")
    return package != "tflm" or "streamed" not in flags


def again(flags: Sequence[str]) -> str:
    """The command that was given, to be typed once more with `flags` added, or in place of what it said
    of the same options."""
    words = list(words_given())
    at = words.index("--") if "--" in words else len(words)
    name = click.get_current_context().info_name or ""
    return shlex.join(["lowtide", name, *_but_for(words[:at], flags), *flags, *words[at:]])


def _but_for(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """The words without options that have one value, which `flags` give anew."""
    anew = {
        name
        for param in click.get_current_context().command.params
        if isinstance(param, click.Option) and not (param.is_flag or param.multiple)
        if not set(flags).isdisjoint(param.opts)
        for name in param.opts
    }
    found, rest = [], iter(words)
    for word in rest:
        option, equals, _ = word.partition("=")
        if option not in anew:
            found.append(word)
        elif not equals:
            next(rest, None)
    return found


def _what_is_taken() -> list[str]:
    """The options given that say which part of a network a command takes, and of how large a file."""
    ends = [
        word
        for flag, name in (("--from", "begin"), ("--until", "until"))
        for tensors in given(name, ())
        for word in (flag, tensors)
    ]
    most = given("max_file", MOST_FILE)
    return ends if most == MOST_FILE else [*ends, "--max-file", str(most)]


def _how_to_write() -> list[str]:
    """The options of `simplify` for what a `reorder` was asked for."""
    context = click.get_current_context()
    if context.info_name != "reorder":
        return []
    return ["--reorder", *["--offline-plan"] * bool(context.params.get("offline_plan"))]


def command_of(model: str) -> Callable[[Hint], str]:
    """What to type for a hint on `model`, as the command line named it."""

    def command(hint: Hint) -> str:
        name = model.removeprefix("zoo:")
        stem = Path(name).stem if name == model else name
        match hint.kind:
            case "compile":
                words = ["lowtide", "compile", model, *_what_is_taken(), "-o", stem]
            case "simplify" if not hint.flags:
                more = [*_what_is_taken(), "-o", f"{stem}_simpler.tflite", *_how_to_write()]
                words = ["lowtide", "simplify", model, *more]
            case _:
                return again(hint.flags)
        return shlex.join(words)

    return command


def answer_advised(
    model: str,
    find: Callable[[], Sequence[Hint]],
    document: Callable[[], dict[str, Any]],
    text: Callable[[], str],
    fit: Fit | None = None,
) -> None:
    """Print the document or the text, with how a microcontroller does, if there is one, and with the
    hints that `find` gives on `model`, if advice is wanted."""
    from lowtide.report.advised import hint_documents, hint_lines

    hints = [hint for hint in find() if can_be_typed(hint.flags)] if given("advised") else None

    def whole() -> dict[str, Any]:
        found = {**document(), **({} if fit is None else {"mcu": fit_document(fit)})}
        if hints is not None:
            found["advice"] = hint_documents(hints, command_of(model))
        return found

    def lines() -> str:
        said = [] if fit is None else [f"predicted: {fit.sentence}"]
        return "\n".join([text(), *said, *hint_lines(hints or (), command_of(model))])

    answer(whole, lines)


def fit_document(fit: Fit) -> dict[str, Any]:
    """Whether a program fits a microcontroller, as predicted."""
    return {
        "name": fit.mcu.name,
        "fits": fit.way != "not",
        "predicted_ram_bytes": fit.ram_bytes,
        "predicted_flash_bytes": fit.flash_bytes,
    }


@contextmanager
def or_what_fits(model: Model, options: Options) -> Iterator[None]:
    """Where no plan keeps to --max-ram, the error says what does."""
    try:
        yield
    except InfeasibleError as error:
        from lowtide.advice.ways import ways_to_fit
        from lowtide.report.advised import fit_remedy

        if options.max_ram is None:
            raise
        with progress("looking for what would fit"):
            ways = ways_to_fit(model, options, options.max_ram)
            ways = tuple(way for way in ways if can_be_typed(way.flags))
        otherwise = error.remedy
        if options.hop is not None or (
            options.input_mode == "resident" and not options.preserve_input
        ):
            otherwise = "allow more RAM; no input mode fits in this limit"
        remedy = fit_remedy(ways, None, otherwise)
        raise InfeasibleError(error.cause, remedy) from None


@contextmanager
def or_what_fits_on(board: Board, compiled: Compiled) -> Iterator[None]:
    """Where a program does not fit the board, the error says what does, or which part has room."""
    from lowtide.machines.failures import DoesNotFitError

    try:
        yield
    except DoesNotFitError as error:
        from lowtide.advice.ways import roomy_part, ways_to_fit
        from lowtide.commands.verdict import predicted
        from lowtide.report.advised import fit_remedy

        needed, figures = error.needed_bytes, predicted(compiled)
        if error.memory == "RAM":
            with progress("looking for what would fit"):
                most = compiled.ram_bytes - error.missing_bytes
                ways = ways_to_fit(compiled.model, _as_given(compiled), most)
            part = roomy_part(board.core.name, needed, figures.flash_bytes)
        else:
            ways, part = (), roomy_part(board.core.name, figures.ram_bytes, needed)
        if part is not None and part.name == board.name:  # whose emulator has less than it
            part = None
        raise DoesNotFitError(
            error.cause,
            fit_remedy(ways, part, error.remedy, "--board" if given("board") else None),
            memory=error.memory,
            missing_bytes=error.missing_bytes,
            needed_bytes=needed,
        ) from None


def _as_given(compiled: Compiled) -> Options:
    """Its options without what was settled on the way: another limit may settle it otherwise."""
    return replace(compiled.options, keep=given("keep"))


_LESS: Final = {
    "ram_bytes": "see which plans need less with `lowtide plan --front`",
    "flash_bytes": "see which parts have more flash with `lowtide fit`",
    "instructions": "see which plans need less with `lowtide plan --front`",
}
"""What to do about a figure that is too much, if nothing better is known."""


def remedy_of_check(verdict: Verdict, again: str) -> str:
    """What to do about each thing that failed; `again` is the command that makes the bundle."""
    from lowtide.commands.bundles import REMEDY

    exceeded = [f for f in verdict.findings if f.over > 0]
    said = []
    if not verdict.figures.bit_exact:
        said.append("find the first operator that differs with `lowtide verify`")
    names = {f.name for f in exceeded}
    said += [_of_ram(verdict)] if "ram_bytes" in names else []
    said += [_LESS[name] for name in ("flash_bytes", "instructions") if name in names]
    if any(f.by == "baseline" for f in exceeded):
        said.append("to accept the change, write a new baseline: -o FILE")
    if verdict.stored is not None and not verdict.stored.same:
        other = verdict.stored.of
        said.append(REMEDY.format(file=other) if other else f"make the bundle again: `{again}`")
    return "; ".join(dict.fromkeys(said))


def _of_ram(verdict: Verdict) -> str:
    """What would keep to the limit of RAM, if that was exceeded and something does."""
    over = [
        f.over for f in verdict.findings if (f.name, f.by) == ("ram_bytes", "limit") and f.over > 0
    ]
    if not over:
        return _LESS["ram_bytes"]
    from lowtide.advice.ways import ways_to_fit
    from lowtide.report.advised import fit_remedy

    compiled = verdict.compiled
    most = compiled.ram_bytes - max(over)
    ways = ways_to_fit(compiled.model, _as_given(compiled), most, planned=False)
    return fit_remedy(ways, None, _LESS["ram_bytes"])
