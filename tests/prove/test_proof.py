"""What is proved of a program, what is told of it, and what fails."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import pytest

from lowtide.commands import compiling
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.proving import told
from lowtide.emit.bundle import bundle
from lowtide.emit.origin import Origin
from lowtide.machines.board import find_target
from lowtide.program.assemble import Assembly
from lowtide.prove import proof as proving
from lowtide.prove.bundle_reader import Params, UnreadableError, read
from lowtide.prove.machine import Machine, Slot, Step
from lowtide.prove.memory import Memory, NotProvedError, Symbols, apart, as_value, of_elements
from lowtide.prove.movers import slide
from lowtide.prove.proof import NOT_PROVED, Claims, Proof, ProofError, prove
from lowtide.report.data import to_json
from lowtide.report.deployment import compiled_document, compiled_text
from networks import NETWORKS, compiled, model_of
from proving import claims, in_batches, kept_in_strips

_FLOAT = {"tflm_mnist_lstm"}
COMPILED = [name for name in NETWORKS if name not in _FLOAT]
SMALL = (
    "figure1",
    "ds-cnn-kws",
    "resnet8",
    "lstm-gestures",
    "audio-front-end",
    "streaming-wake-word",
)
MODES = {
    "const": Options(input_mode="const"),
    "streamed": Options(input_mode="streamed", output_mode="streamed"),
    "preserved": Options(preserve_input=True),
    "strips": Options(max_overhead=3.0),
    "operators": Options(schedule="operators"),
    "greedy": Options(schedule="operators", allocator="greedy"),
    "compacting": Options(schedule="operators", allocator="compacting"),
    "slices": Options(slices=True),
    "cortex-m4": Options(target=find_target("cortex-m4")),
    "cortex-m55": Options(target=find_target("cortex-m55")),
    "rv32imac": Options(target=find_target("rv32imac")),
}


def _all(proof: Proof) -> bool:
    return proof.data_flow and proof.bounds and not proof.left_out


@pytest.mark.parametrize("network", COMPILED)
def test_networks_are_proved(network: str) -> None:
    assert _all(compiled(network).proof)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", SMALL)
def test_modes_are_proved(network: str, mode: str) -> None:
    assert _all(compiled(network, MODES[mode]).proof)


@pytest.mark.parametrize("core", ["any", "cortex-m4"])
@pytest.mark.parametrize("width", [None, 1, 4, 5])
def test_blocks_that_keep_rows_are_proved(width: int | None, core: str) -> None:
    program = kept_in_strips(Options(target=find_target(core)), width)
    assert ".kept = 2," in program.files["kept.c"].decode()
    assert _all(program.proof)


@pytest.mark.parametrize(
    ("core", "right", "wrong"),
    [
        ("cortex-m4", "lt_block_4x2_columns", "lt_block_4x2_depthwise"),
        ("cortex-m4", "lt_block_4x2_columns", "lt_block_4x2_plain"),
        ("cortex-m4", "lt_block_4x2_columns", "lt_block_vector_planes"),
        ("cortex-m55", "lt_block_vector_planes", "lt_block_vector_depthwise"),
    ],
)
def test_a_block_that_runs_another_function_is_not_proved(
    core: str, right: str, wrong: str
) -> None:
    """It would read params of one depthwise kernel as those of another."""
    program = kept_in_strips(Options(target=find_target(core)))
    code = program.files["kept.c"].decode()
    assert f".core = {right}," in code
    files = {**program.files, "kept.c": code.replace(right, wrong).encode()}
    with pytest.raises(ProofError, match=f"it calls {wrong} for its"):
        prove(program.graph, files, program.name, claims(program))


def test_batches_are_proved() -> None:
    program = in_batches()
    assert "lt_images_row" in program.files["batch.c"].decode()
    assert _all(program.proof)


def test_what_is_proved_is_told() -> None:
    program = compiled("figure1")
    text = compiled_text(program)
    assert text.splitlines()[-1] == "proved for all inputs: data flow, bounds"
    document = json.loads(to_json(compiled_document(program, "out")))
    assert document["proof"]["data_flow"] is True
    assert document["proof"]["bounds"] is True
    assert document["proof"]["not_proved"] == [*NOT_PROVED]
    readme = program.files["README.md"].decode()
    assert "Proved for all inputs: data flow, bounds." in readme
    assert all(each in readme for each in NOT_PROVED)


def test_what_is_left_out_is_told() -> None:
    partly = Proof(False, False, ("a: b",), ("3 CUSTOM",), steps=1)
    assert str(partly) == "proved for all inputs: data flow, bounds; not of 3 CUSTOM"
    assert "3 CUSTOM" in told(partly)
    assert "- a: b" in told(partly)


def test_a_program_that_is_too_large_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "_MOST_BYTES", 1 << 12)
    program = compiled("ds-cnn-kws")
    found = prove(program.graph, program.files, program.name, claims(program))
    assert not found.data_flow
    assert not found.bounds
    assert str(found).startswith("not proved: it has more than")
    assert told(found).startswith("Not proved: it has more than")


def test_an_operator_without_a_contract_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and nothing is said to be proved of all."""
    monkeypatch.setattr(proving, "READS", {})
    program = compiled("ds-cnn-kws")
    found = prove(program.graph, program.files, program.name, claims(program))
    assert not found.data_flow
    assert any("FULLY_CONNECTED" in name for name in found.left_out)


def test_a_program_that_is_not_proved_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a fault of lowtide's, which says where."""

    def wrong(assembly: Assembly, name: str, origin: Origin) -> Mapping[str, bytes]:
        files = bundle(assembly, name, origin)
        text = files["figure1.c"].decode()
        first = re.sub(
            r"(apart \*/\n    \{ )(\d+)", lambda m: f"{m[1]}{int(m[2]) + 1}", text, count=1
        )
        assert first != text
        return {**files, "figure1.c": first.encode()}

    monkeypatch.setattr(compiling, "bundle", wrong)
    with pytest.raises(ProofError, match=r"node \d+, step \d+: ") as found:
        compile_model(model_of("figure1"), Options(effort=0.1))
    assert found.value.exit_code == 5


def _again(program: Compiled, told_of_it: Claims) -> Proof:
    return prove(program.graph, program.files, program.name, told_of_it)


def test_a_wrong_hint_proves_nothing() -> None:
    """Which operator a node computes is a hint: another one does not fit what the node finds."""
    program = compiled("ds-cnn-kws")
    right = claims(program)
    for one, other in pairwise(n for n, c in enumerate(right.nodes) if c.operators):
        nodes = list(right.nodes)
        nodes[one], nodes[other] = nodes[other], nodes[one]
        with pytest.raises(ProofError):
            _again(program, replace(right, nodes=nodes))
    with pytest.raises(ProofError, match="nodes"):
        _again(program, replace(right, nodes=right.nodes[1:]))


def test_an_input_that_should_be_kept_is_looked_at() -> None:
    program = compiled("figure1")
    with pytest.raises(ProofError, match="input 0"):
        _again(program, replace(claims(program), keeps_inputs=True))


def test_a_state_must_begin_as_it_should() -> None:
    program = compiled("streaming-wake-word")
    name = program.name
    text = program.files[f"{name}.c"].decode()
    at = text.index("memset(")
    changed = text[:at] + text[at:].replace(", -1, ", ", 1, ", 1).replace(
        "bases[2] + 0,", "bases[2] + 1,", 1
    )
    files = {**program.files, f"{name}.c": changed.encode()}
    with pytest.raises(ProofError, match="a reset"):
        prove(program.graph, files, name, claims(program))


def test_scratch_memory_counts() -> None:
    program = compiled("ds-cnn-kws")
    right = claims(program)
    nodes = tuple(replace(n, scratch=n.scratch and program.arena_bytes) for n in right.nodes)
    with pytest.raises(ProofError, match="scratch"):
        _again(program, replace(right, nodes=nodes))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("static const lt_rows net_rows[]", "static const lt_rows net_others[]"),
        (".turn_count = ", ".turn_count = 9"),
        ("offset, pitch, count, base, apart */\n    {", "*/\n    { 1,"),
        ("LT_NONE", "LT_OTHER"),
        ("node, steps */\n    {", "*/\n    { 99999, 1 },\n    {"),
    ],
)
def test_text_of_another_form_is_refused(old: str, new: str) -> None:
    program = compiled("figure1", Options(name="net"))
    code, header = (program.files[f"net.{kind}"].decode() for kind in "ch")
    assert old in code
    with pytest.raises(UnreadableError):
        read(code.replace(old, new), header, "net")


def test_labels() -> None:
    symbols = Symbols()
    one = symbols.new("one")
    data = symbols.constant("data", bytes([7, 7, 9]))
    memory = Memory.empty("m", 8)
    assert symbols.told(int(memory.labels(0, 1)[0])) == "nothing"
    memory.write(2, 4, one, 1)
    assert memory.holds(2, 4, one, 1)
    assert not memory.holds(1, 4, one, 0)
    assert memory.holds(2, 4, memory.labels(2, 4))
    assert symbols.told(one + 3) == "byte 3 of one"
    assert as_value(memory.labels(2, 4)) == one + 1
    assert of_elements(memory.labels(2, 2), 2).tolist() == [one + 1, one + 2, one + 2, one + 3]
    alike = symbols.resolved(data + memory.labels(2, 3) - one - 1)
    assert alike[0] == alike[1] != alike[2]
    assert apart([(0, 0, 4), (0, 4, 4), (1, 0, 9)])
    assert not apart([(0, 3, 4), (0, 0, 4)])


@pytest.mark.parametrize(("to", "is_refused"), [(3, True), (10, True), (2, False), (11, False)])
def test_a_buffer_moves_to_a_lower_address(to: int, is_refused: bool) -> None:
    memory = Memory.empty("arena", 30)
    machine = cast(
        Machine,
        SimpleNamespace(
            memories=(memory,),
            writable={0},
            heard=None,
            ring=None,
            bundle=SimpleNamespace(ring_row=1),
        ),
    )
    given, made = Slot(0, 2, 0, 1), Slot(0, to, 0, 1)
    step = Step(machine, 0, 0, [[given]], [[made]])
    judge = slide(Params("lt_slide", {"bytes": 9})).judge
    if not is_refused:
        judge(step)
        assert [piece for piece, _, _ in step.writes] == [(0, to, 9)]
        return
    with pytest.raises(NotProvedError, match=f"it moves byte 2 to {to}, over what it moves next"):
        judge(step)
