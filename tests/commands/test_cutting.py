"""Parts of networks: names, bit-exactness against the whole network, files, and proposed cuts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lowtide import lower
from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.cutting import alone, as_file, names_in, part_of
from lowtide.commands.options import Options
from lowtide.commands.reordering import reorder
from lowtide.errors import DiffersError, ModelError, UsageError
from lowtide.ir import Model
from lowtide.tflite.pack import pack
from lowtide.tflite.read import parse
from lowtide.tflite.table import File
from lowtide.tflite.unpack import unpack
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write
from networks import contents, loaded


def middle(name: str) -> tuple[int, ...]:
    """The tensors that are live halfway through the network: all ways pass them."""
    graph = loaded(name).graph
    half = len(graph.ops) // 2
    made = {t for op in graph.ops[:half] for t in op.outputs} | set(graph.inputs)
    read = {t for op in graph.ops[half:] for t in op.inputs} | set(graph.outputs)
    return tuple(sorted(made & read))


@pytest.mark.parametrize("name", ["figure1", "branchy-cell", "ds-cnn-kws", "attention-block"])
def test_both_halves_are_bit_exact(name: str) -> None:
    """The second one, with inputs that have the values of a whole run."""
    model, cut = loaded(name), middle(name)
    made = [tensor for tensor in cut if tensor not in model.graph.inputs]
    for part in (part_of(model, until=made), part_of(model, begin=cut)):
        assert part.whole is model.graph
        found = verify(compile_model(part), samples=2)
        assert found.bit_exact
        assert found.passed_over == ""
        assert found.tensors < len(model.graph.ops)


def test_a_part_with_state_is_run_as_a_sequence() -> None:
    model = loaded("streaming-wake-word")
    assigned = next(op for op in model.graph.ops if op.type == "CONCATENATION").outputs
    part = part_of(model, until=assigned)
    for one in (part, as_file(part)):
        found = verify(compile_model(one))
        assert found.bit_exact
        assert found.state is not None


def test_the_inputs_of_a_part_are_those_of_a_whole_run() -> None:
    """With other weights before the cut in the file that the oracle runs, the inputs are others, and
    the part is as right; with other weights behind the cut, it is wrong."""
    model = loaded("figure1")
    cut = model.graph.ops[0].outputs
    part = part_of(model, begin=cut)
    for number, right in ((0, True), (1, False)):
        weights = model.graph.tensors[model.graph.ops[number].inputs[1]].data
        assert weights is not None
        at = model.source.index(weights)
        source = model.source[:at] + bytes([model.source[at] ^ 64]) + model.source[at + 1 :]
        assert verify(compile_model(replace(part, source=source)), samples=2).bit_exact is right


def test_a_part_as_a_file() -> None:
    model, cut = loaded("branchy-cell"), middle("branchy-cell")
    file = as_file(part_of(model, begin=cut))
    assert file.whole is None
    assert len(file.graph.tensors) < len(model.graph.tensors)
    assert len(file.source) < len(model.source)
    (signature,) = file.signatures
    assert tuple(t for _, t in signature.inputs) == file.graph.inputs
    assert verify(compile_model(file), samples=2).bit_exact
    again = reorder(part_of(model, begin=cut))
    assert again.check is not None
    assert again.ways[0].model.source == file.source
    assert as_file(model) is model


def test_a_file_that_is_not_the_part_is_not_given_out() -> None:
    model = loaded("figure1")
    weights = model.graph.tensors[model.graph.ops[0].inputs[1]].data
    assert weights is not None
    at = model.source.index(weights)
    source = model.source[:at] + bytes([model.source[at] ^ 64]) + model.source[at + 1 :]
    part = part_of(model, until=model.graph.ops[0].outputs)
    changed = replace(
        part.graph.tensors[model.graph.ops[0].inputs[1]], data=source[at : at + len(weights)]
    )
    tensors = tuple(changed if t.id == changed.id else t for t in part.graph.tensors)
    with pytest.raises(DiffersError, match="the part's results differ from the whole network's"):
        as_file(replace(part, graph=replace(part.graph, tensors=tensors)))


def test_alone_tensors_keep_their_numbers() -> None:
    model = loaded("figure1")
    part = part_of(model, until=model.graph.ops[2].outputs)
    found = alone(part).graph
    assert (found.inputs, found.outputs) == (part.graph.inputs, part.graph.outputs)
    assert [t.name for t in found.tensors] == [t.name for t in model.graph.tensors]


def with_custom_end(name: str) -> Model:
    """The network with its last operator made a custom one, which no reference engine knows."""
    values = unpack(File(contents(name)).root)
    codes = values["operator_codes"]
    last = values["subgraphs"][0]["operators"][-1]
    codes.append({"builtin_code": 32, "deprecated_builtin_code": 32, "custom_code": "MyHead"})
    last["opcode_index"] = len(codes) - 1
    last.pop("builtin_options", None)
    return parse(pack(values), path="head.tflite")


def test_an_unknown_operator_at_the_end() -> None:
    """The refusal proposes the cut; the part is compared by itself, as nobody runs the whole."""
    model = with_custom_end("ds-cnn-kws")
    last = model.graph.ops[-1]
    with pytest.raises(ModelError) as caught:
        compile_model(model)
    assert str(caught.value) == (
        f"operator {last.id} (MyHead): lowtide has no kernel for this operator\n"
        f"  remedy: everything up to tensor {last.inputs[0]} is supported: "
        f"`--until {last.inputs[0]}`; or see `lowtide ops` for what is supported"
    )
    found = verify(compile_model(part_of(model, until=[last.inputs[0]])), samples=2)
    assert found.bit_exact
    assert found.passed_over.startswith(
        "only the part was compared, because no reference engine runs the whole network: "
        "TensorFlow Lite Micro "
    )


@pytest.mark.parametrize(
    ("missing", "proposal"),
    [
        ("SOFTMAX", "everything up to tensor {last} is supported: `--until {last}`"),
        ("CONV_2D", "everything from tensor 3 up to tensor 6 is supported: `--from 3 --until 6`"),
    ],
)
def test_proposals(missing: str, proposal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded("ds-cnn-kws")
    monkeypatch.delitem(lower._EVERY, missing)
    with pytest.raises(ModelError) as caught:
        compile_model(model, Options(simplify=False))
    last = next(op for op in model.graph.ops if op.type == missing).inputs[0]
    assert caught.value.remedy.startswith(proposal.format(last=last))


_FC, _SCALE = "FULLY_CONNECTED", np.full(1, 0.05, np.float32)


def _with_tail(*tail: str, scale: float = 0.1) -> Model:
    """Some dense layers, and what is behind them."""
    weights = np.random.default_rng(1).integers(-127, 128, (4, 4)).astype(np.int8)
    tensors = [
        TensorSpec("x", (1, 4), "INT8", _SCALE),
        TensorSpec("w", (4, 4), "INT8", _SCALE, data=weights),
        TensorSpec("b", (4,), "INT32", _SCALE * _SCALE, data=np.zeros(4, np.int32)),
        TensorSpec("y", (1, 4), "INT8", _SCALE),
    ]
    ops = [OpSpec(_FC, 4, (0, 1, 2), (3,), "FullyConnectedOptions")]
    for kind in tail:
        last = len(tensors) - 1
        floats = kind in ("DEQUANTIZE", "LOG_SOFTMAX")
        scales = None if floats else np.full(1, scale, np.float32)
        tensors.append(TensorSpec(kind, (1, 4), "FLOAT32" if floats else "INT8", scales))
        options = f"{kind.title().replace('_', '')}Options"
        inputs = (last, last) if kind in ("ADD", "MUL") else (last,)
        ops.append(OpSpec(kind, 1, inputs, (last + 1,), options))
    net = NetSpec("net", tuple(tensors), tuple(ops), (0,), (len(tensors) - 1,))
    return parse(write(net), path="net.tflite")


@pytest.mark.parametrize(
    ("model", "cause", "until"),
    [
        (
            _with_tail("DEQUANTIZE", "LOG_SOFTMAX"),
            "operator 2 (LOG_SOFTMAX): its type is FLOAT32, but its kernels are for INT8; of floats, "
            "its results differ from one C library to another",
            4,
        ),
        (
            _with_tail("MUL", scale=1e-30),
            "operator 1 (MUL): its scales differ by a factor of 2.5e",
            3,
        ),
    ],
    ids=["log-softmax", "scales"],
)
def test_the_cut_that_a_refusal_proposes_compiles(model: Model, cause: str, until: int) -> None:
    with pytest.raises(ModelError) as caught:
        compile_model(model)
    assert caught.value.cause.startswith(cause)
    proposal = f"everything up to tensor {until} is supported: `--until {until}`; or "
    assert caught.value.remedy.startswith(proposal)
    assert verify(compile_model(part_of(model, until=[until])), samples=2).bit_exact


def test_a_cut_without_a_multiplication() -> None:
    """No MAC in all of the network: the part of most operators is proposed."""
    one = np.ones(1, np.float32)
    small = np.full(1, 1e-30, np.float32)
    kinds = ("ADD", "MUL", "ADD", "ADD")
    scales = (one, one, small, small, small)
    tensors = [TensorSpec(f"t{i}", (1, 4), "INT8", of) for i, of in enumerate(scales)]
    ops = [
        OpSpec(kind, 1, (i, i), (i + 1,), f"{kind.title()}Options") for i, kind in enumerate(kinds)
    ]
    model = parse(write(NetSpec("net", tuple(tensors), tuple(ops), (0,), (4,))), path="net.tflite")
    with pytest.raises(ModelError) as caught:
        compile_model(model)
    assert caught.value.remedy.startswith("everything from tensor 2 is supported: `--from 2`; or ")
    assert verify(compile_model(part_of(model, [2])), samples=2).bit_exact


def test_names() -> None:
    model = loaded("figure1")
    graph = model.graph
    made = graph.ops[2].outputs[0]
    name = graph.tensors[made].name
    assert part_of(model, until=[name]).graph == part_of(model, until=[made]).graph
    assert part_of(model, until=[str(made)]).graph.outputs == (made,)
    assert part_of(model) is model
    assert names_in("1, 2,x", graph) == ("1", "2", "x")
    comma = replace(graph.tensors[0], name="a,b")
    assert names_in("a,b", replace(graph, tensors=(comma, *graph.tensors[1:]))) == ("a,b",)


def renamed(names: dict[int, str]) -> Model:
    model = loaded("figure1")
    tensors = tuple(replace(t, name=names.get(t.id, t.name)) for t in model.graph.tensors)
    return replace(model, graph=replace(model.graph, tensors=tensors))


def test_names_that_converters_join() -> None:
    made = [op.outputs[0] for op in loaded("figure1").graph.ops]
    model = renamed({made[1]: "net/relu;net/conv", made[2]: "net/conv"})
    assert part_of(model, until=["net/relu"]).graph.outputs == (made[1],)
    assert part_of(model, until=["net/conv"]).graph.outputs == (made[2],)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "net/reluu",
            "--until names 'net/reluu', but no tensor of the network has that name\n"
            "  remedy: did you mean 'net/relu' (tensor {1})?",
        ),
        (
            "~",
            "--until names '~', but no tensor of the network has that name\n"
            "  remedy: give a tensor's number or name (`lowtide analyze` lists both)",
        ),
        (
            "net/conv",
            "--until names 'net/conv', but 2 tensors have that name\n  remedy: give a number: {2}, {3}",
        ),
        (
            "999",
            "--until names tensor 999, but the network has {count} tensors\n  remedy: give a number "
            "below {count}, or a tensor's name (`lowtide analyze` lists both)",
        ),
    ],
)
def test_names_that_are_none(text: str, message: str) -> None:
    graph = loaded("figure1").graph
    made = [op.outputs[0] for op in graph.ops]
    model = renamed({made[1]: "net/relu", made[2]: "net/conv", made[3]: "net/conv"})
    with pytest.raises(UsageError) as caught:
        part_of(model, until=[text])
    assert str(caught.value) == message.format(*made, count=len(graph.tensors))
