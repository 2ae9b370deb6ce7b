"""What to try next: what is saved is what the advised program saves, and the command makes it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from lowtide.advice.advising import advice
from lowtide.cli import app
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.report.advised import advice_documents, advice_lines
from lowtide.zoo.loading import load
from networks import model_of


@pytest.mark.parametrize(
    "options", [Options(), Options(input_type="uint8", align=32, effort=0.5, simplify=False)]
)
def test_the_command_makes_what_was_advised(options: Options, tmp_path: Path) -> None:
    compiled = compile_model(load("zoo:figure1"), options)
    found = advice(compiled)
    assert "streamed" in {entry.kind for entry in found}
    for entry, told in zip(found, advice_documents(compiled, found), strict=True):
        assert entry.ram_saved == compiled.ram_bytes - entry.compiled.ram_bytes
        program, command, *words = shlex.split(told["command"])
        assert (program, command) == ("lowtide", "compile")
        words[words.index("-o") + 1] = str(tmp_path / entry.kind)
        with app.commands[command].make_context(command, words) as context:
            app.commands[command].invoke(context)
        header = (tmp_path / entry.kind / "figure1.h").read_bytes()
        assert header == entry.compiled.files["figure1.h"]


def test_nothing_to_say_takes_no_line() -> None:
    compiled = compile_model(model_of("figure1"), Options(schedule="operators"))
    assert advice(compiled) == ()
    assert advice_lines(compiled, ()) == []
