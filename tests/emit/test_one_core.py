"""What the README of a bundle for any core says that one for a core would save."""

from __future__ import annotations

from lowtide import zoo
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.emit.one_core import Gain, gains, paragraph
from lowtide.lower.lowerings import Lowerings
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from networks import compiled

M4 = find_target("cortex-m4")


def test_gains_are_those_of_the_nodes_of_either_program() -> None:
    graph = compiled("ds-cnn-kws").assembly.graph
    (gain,) = gains(Lowerings(graph), (M4,))
    as_it_is, made_for_it = gain.instructions
    assert gain.core == "cortex-m4"
    assert made_for_it < 0.9 * as_it_is
    assert abs(gain.constants[1] / gain.constants[0] - 1) < 0.2
    assert gains(Lowerings(graph), (find_target("any"),)) == ()


def test_only_a_bundle_for_any_core_says_so() -> None:
    model = parse(zoo.build("ds-cnn-kws"))
    texts = [
        compile_model(model, Options(name="net", target=find_target(core))).files["README.md"]
        for core in ("any", "cortex-m4")
    ]
    assert [b"## For one core" in text for text in texts] == [True, False]
    assert b"`--core cortex-m4`" in texts[0]


def test_paragraph() -> None:
    assert paragraph(()) == ""
    assert "| `--core m` | 25 % | 30 | 40 |" in paragraph((Gain("m", (200, 150), (30, 40)),))
