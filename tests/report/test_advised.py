"""What a report advises: what is said to be saved is saved by the command that is shown."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from lowtide.advice.hints import hints
from lowtide.advice.reporting import report_on
from lowtide.cli import app
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.report.advised import advice_documents
from lowtide.zoo.loading import load


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(input_type="uint8", align=32, effort=0.5, simplify=False),
        Options(max_overhead=1.25),
    ],
)
def test_the_command_makes_what_was_advised(options: Options, tmp_path: Path) -> None:
    reported = report_on(load("zoo:figure1"), options)
    compiled, streamed = reported.compiled, reported.streamed
    assert streamed is not None
    found = reported.advice
    assert "streamed" in {hint.kind for hint in found}
    for hint, told in zip(found, advice_documents(compiled, found), strict=True):
        program, command, *words = shlex.split(told["command"])
        assert (program, command) == ("lowtide", "compile")
        words[words.index("-o") + 1] = str(tmp_path / hint.kind)
        with app.commands[command].make_context(command, words) as context:
            app.commands[command].invoke(context)
        header = (tmp_path / hint.kind / "figure1.h").read_bytes()
        assert hint.estimated == (hint.kind != "streamed")
        if hint.kind == "streamed":
            assert hint.ram_saved == compiled.ram_bytes - streamed.compiled.ram_bytes
            assert header == streamed.compiled.files["figure1.h"]


@pytest.mark.parametrize("options", [Options(preserve_input=True), Options(smallest=True)])
def test_what_excludes_an_option_is_not_advised_with_it(options: Options) -> None:
    reported = report_on(load("zoo:figure1"), options, front=True)
    for told in advice_documents(reported.compiled, reported.advice):
        _, command, *words = shlex.split(told["command"])
        with app.commands[command].make_context(command, words):
            pass
        assert not {"--preserve-input", "--input"} <= {*words}
        assert not {"--smallest", "--max-overhead"} <= {*words}


def test_there_is_nothing_to_say_of_a_plan_that_was_given() -> None:
    compiled = compile_model(load("zoo:figure1"))
    plan = compiled.assembly.plan
    assert plan is not None
    stages = tuple(stage.choice for stage in plan.stages)
    assert hints(compile_model(load("zoo:figure1"), Options(stages=stages))) == ()
