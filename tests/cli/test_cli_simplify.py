"""`lowtide simplify`: a smaller file with the same outputs, or none; and what it keeps of the old."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import call, fine, refused

import lowtide
from lowtide.commands import simplifying
from lowtide.commands.reordering import with_offline_plan
from lowtide.ir import Model
from lowtide.place.offline_plan import METADATA_NAME
from lowtide.tflite.pack import pack
from lowtide.tflite.read import parse
from lowtide.tflite.rewrite import set_metadata
from lowtide.tflite.table import File
from lowtide.tflite.unpack import unpack
from lowtide.tflite.write import with_graph
from networks import loaded
from planted_nets import planted_network

SEED = 3  # in which 30 channels and some moves can go


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    path = tmp_path / "planted.tflite"
    path.write_bytes(planted_network(SEED))
    return path


def test_the_written_file_is_smaller(planted: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.tflite"
    text = fine(call("simplify", planted, "-o", out, "--samples", "3", "--no-advice"))
    assert text.startswith(f"{planted}\n")
    assert (
        "All outputs are the same, byte for byte, on 3 inputs in TensorFlow Lite Micro and LiteRT's "
        "reference kernels.\n" in text
    )
    assert text.endswith(f"Wrote {out}.\n")
    old, new = lowtide.load(planted), lowtide.load(out)
    assert len(new.source) < len(old.source)
    assert len(new.graph.ops) <= len(old.graph.ops)
    kinds = [
        [(m.graph.tensors[t].shape, m.graph.tensors[t].quant) for t in ends]
        for m in (old, new)
        for ends in (m.graph.inputs, m.graph.outputs)
    ]
    assert kinds[:2] == kinds[2:]
    # There is nothing more to be had.
    again = tmp_path / "again.tflite"
    assert "nothing to remove" in fine(call("simplify", out, "-o", again))


def test_nothing_to_simplify_is_a_result(tmp_path: Path) -> None:
    out = tmp_path / "small.tflite"
    assert fine(call("simplify", "zoo:figure1", "-o", out, "--no-advice")) == (
        "zoo:figure1: there is nothing to remove: every channel and every operator is needed.\n"
        "Nothing was written.\n"
    )
    assert list(tmp_path.iterdir()) == []
    document = json.loads(fine(call("simplify", "zoo:figure1", "-o", out, "--json")))
    assert (document["changed"], document["output"], document["check"]) == (False, None, None)
    fine(call("simplify", "zoo:figure1", "-o", out, "--always-write", "--no-check"))
    assert out.read_bytes() == loaded("figure1").source


@pytest.mark.parametrize("flags", [("--reorder",), ("--reorder", "--offline-plan")], ids=" ".join)
def test_a_better_order_is_written_though_there_is_nothing_to_remove(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    """As `reorder` writes it, and as the tip promises; then there is nothing more to be had."""
    out, other = tmp_path / "new.tflite", tmp_path / "other.tflite"
    given = ("simplify", "zoo:branchy-cell", "-o", out, "--samples", "2")
    assert "Nothing was written.\n" in fine(call(*given))
    text = fine(call(*given, *flags, "--no-advice"))
    assert text.endswith(f"Wrote {out}.\n")
    assert "All outputs are the same, byte for byte, on 2 inputs" in text
    fine(call("reorder", "zoo:branchy-cell", "-o", other, *flags[1:]))
    assert out.read_bytes() == other.read_bytes()
    again = tmp_path / "again.tflite"
    text = fine(call("simplify", out, "-o", again, *flags, "--no-advice"))
    assert text.endswith(
        "is needed.\nNothing is better than the file as it is.\nNothing was written.\n"
    )
    assert not again.exists()


def test_better_offsets_are_written_though_there_is_nothing_to_remove(tmp_path: Path) -> None:
    """If they are better: in this network, whose operators have their best order already."""
    best, out = tmp_path / "best.tflite", tmp_path / "new.tflite"
    fine(call("reorder", "zoo:branchy-cell", "-o", best, "--no-check"))
    given = ("--offline-plan", "--no-check")
    document = json.loads(fine(call("simplify", best, "-o", out, *given, "--json")))
    assert (document["changed"], document["reordered"]) == (False, False)
    assert document["output"] == str(out)
    old, new = lowtide.analyze(best), lowtide.analyze(out)
    assert new.stored_plan_bytes is not None
    assert new.stored_plan_bytes < old.tflm_greedy_arena_bytes
    assert [op.outputs for op in new.graph.ops] == [op.outputs for op in old.graph.ops]
    text = fine(call("simplify", best, "-o", out, *given, "--no-advice"))
    (line,) = [line for line in text.splitlines() if line.startswith("arena of TFLM, head")]
    assert f"{old.tflm_greedy_arena_bytes:,} B" in line
    assert f"{new.stored_plan_bytes:,} B" in line
    result = call("simplify", "zoo:ds-cnn-kws", "-o", tmp_path / "none.tflite", *given, "--json")
    assert json.loads(fine(result))["output"] is None


def test_with_order_and_plan(planted: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.tflite"
    flags = ("--always-write", "--reorder", "--offline-plan", "--json", "--samples", "3")
    for model in ("zoo:figure1", planted):
        document = json.loads(fine(call("simplify", model, "-o", out, *flags)))
        assert document["schema"] == "lowtide.simplify/1"
        assert document["check"]["bit_exact"] is True
        new = lowtide.load(out)
        assert {entry.name for entry in new.metadata} <= {METADATA_NAME}  # if that is better
        assert document["file_bytes"]["after"] == len(new.source)
        analysis = lowtide.analyze(new)
        assert analysis.peak_bytes == analysis.best.peak_bytes


def test_what_is_kept_of_the_file(planted: Path) -> None:
    """Signatures name the new tensors; a plan is made anew; other metadata stay as they are."""
    old = with_offline_plan(lowtide.load(planted))
    values = unpack(File(set_metadata(old.source, "mine", b"as it was")).root)
    values["description"] = "for tests"
    values["signature_defs"] = [_signature(old)]
    old = parse(pack(values), path="old.tflite")
    new = simplifying.simplify_model(old, samples=2).model
    assert new.description == "for tests"
    kept = {entry.name: entry.data for entry in new.metadata}
    assert kept["mine"] == b"as it was"
    assert len(kept[METADATA_NAME]) < len({e.name: e.data for e in old.metadata}[METADATA_NAME])
    [signature] = new.signatures
    assert [tensor for _, tensor in signature.inputs] == list(new.graph.inputs)
    assert [tensor for _, tensor in signature.outputs] == list(new.graph.outputs)


def _signature(model: Model) -> dict[str, Any]:
    def maps(ends: tuple[int, ...]) -> list[dict[str, Any]]:
        return [{"name": f"e{t}", "tensor_index": t} for t in ends]

    graph = model.graph
    return {
        "signature_key": "serve",
        "inputs": maps(graph.inputs),
        "outputs": maps(graph.outputs),
    }


@pytest.mark.parametrize("name", ["figure1", "streaming-wake-word", "lstm-gestures"])
def test_a_file_packed_again_is_the_same_network(name: str) -> None:
    model = loaded(name)
    data = with_graph(model, model.graph, range(len(model.graph.tensors)))
    again = parse(data, path=model.path)
    assert [(o.type, o.inputs, o.outputs, dict(o.options)) for o in again.graph.ops] == [
        (o.type, o.inputs, o.outputs, dict(o.options)) for o in model.graph.ops
    ]
    plain = [
        [(t.name, t.shape, t.dtype, t.quant, t.data, t.is_variable) for t in m.graph.tensors]
        for m in (model, again)
    ]
    assert plain[0] == plain[1]
    assert again.graph.initial == model.graph.initial


def test_state_is_carried(tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    flags = ("--always-write", "--offline-plan", "--samples", "2")
    text = fine(call("simplify", "zoo:lstm-gestures", "-o", out, *flags))
    assert "All outputs are the same, byte for byte, on 32 inputs" in text


def test_a_file_that_differs_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loaded("figure1")
    weights = max((t.data for t in model.graph.tensors if t.data is not None), key=len)
    wrong = parse(model.source.replace(weights, bytes(len(weights))), path=model.path)
    monkeypatch.setattr(simplifying, "with_offline_plan", lambda _: wrong)
    out = tmp_path / "small.tflite"
    flags = ("--always-write", "--offline-plan")
    result = call("simplify", "zoo:figure1", "-o", out, *flags)
    refused(result, 1, "gives different results", "internal error of lowtide")
    assert not out.exists()
