"""Tables of a program: offsets, moves, views, variables, inputs; checked without running any C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assembled import assemble
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.modes import InputMode, OutputMode
from lowtide.passes import show_signal_state
from lowtide.place import ALLOCATORS
from lowtide.program.assemble import Assembly
from lowtide.program.tables import ExchangeEntry, KernelEntry, MoveEntry
from lowtide.program.turns import Turn, expand
from lowtide.prove.proof import ProofError
from lowtide.rows.bases import ARENA, CONSTANTS, FIRST_INPUT
from lowtide.tflite.read import parse
from networks import NETWORKS, contents, graph_of, order_of, row_program
from proving import proved
from signal_nets import signal_network

_FLOAT = {"tflm_mnist_lstm"}  # refused; see the tests of the command line
COMPILED = [name for name in NETWORKS if name not in _FLOAT]
INPUTS: list[tuple[InputMode, bool]] = [("resident", False), ("resident", True), ("const", False)]
STREAMS: list[tuple[InputMode, OutputMode]] = [
    ("streamed", "resident"),
    ("resident", "streamed"),
    ("const", "streamed"),
    ("streamed", "streamed"),
]
SEEDS = 24
_LARGE = 200_000  # bytes of a file


def _order(network: str) -> tuple[int, ...]:
    return order_of(network).order


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("network", COMPILED)
def test_every_row_is_where_its_reader_looks(network: str, allocator: str) -> None:
    graph = graph_of(network)
    for mode, kept in INPUTS:
        assembly = assemble(
            graph, _order(network), allocator=allocator, input_mode=mode, preserve_input=kept
        )
        proved(assembly, keeps_inputs=kept)
        moves = (entry for entry in assembly.nodes if isinstance(entry, MoveEntry))
        assert sum(_moved(entry) for entry in moves) == assembly.placement.moved_bytes


def _moved(move: MoveEntry) -> int:
    size = dict(move.slide.params.fields)["bytes"]
    assert isinstance(size, int)
    return size


def _in_modes(network: str) -> list[tuple[InputMode, bool]]:
    """Of large networks one, another for each, of others all."""
    large = len(contents(network)) > _LARGE
    return [INPUTS[COMPILED.index(network) % len(INPUTS)]] if large else INPUTS


@pytest.mark.parametrize(
    ("network", "mode"),
    [(network, mode) for network in COMPILED for mode in _in_modes(network)],
    ids=lambda shown: shown if isinstance(shown, str) else f"{shown[0]}{'-kept' * shown[1]}",
)
def test_interleaved_rows_are_where_their_readers_look(
    network: str, mode: tuple[InputMode, bool]
) -> None:
    proved(row_program(network, mode[0], "resident", mode[1]), keeps_inputs=mode[1])


def _check_streams(assembly: Assembly, given: InputMode, left: OutputMode) -> None:
    graph = assembly.graph
    assert set(assembly.given) == (set() if given == "streamed" else set(graph.inputs))
    assert set(assembly.left) == (set() if left == "streamed" else set(graph.outputs))
    proved(assembly)


@pytest.mark.parametrize("network", COMPILED)
def test_streamed_rows_are_where_their_readers_look(network: str) -> None:
    _check_streams(row_program(network, "streamed", "streamed"), "streamed", "streamed")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_streams_of_random_networks(seed: int) -> None:
    for given, left in STREAMS:
        _check_streams(row_program(seed, given, left), given, left)


def test_a_stream_that_is_wrong_is_found() -> None:
    """The check above can fail: one row given, or taken, too few."""
    for kind in ("inputs", "outputs"):
        program = row_program("figure1", "streamed", "streamed")
        node = next(
            number
            for number, entry in enumerate(program.nodes)
            if isinstance(entry, ExchangeEntry) and getattr(entry.exchange, kind)
        )
        steps = expand(program.turns)
        at = len(steps) - 1 - steps[::-1].index(node)
        turns = tuple(Turn(number, 1) for number in (*steps[:at], *steps[at + 1 :]))
        with pytest.raises(ProofError, match="to its end" if kind == "inputs" else "should be"):
            proved(replace(program, turns=turns))


def test_a_label_that_is_wrong_is_found() -> None:
    """The check above can fail: one offset of one table is another."""
    assembly = assemble(graph_of("figure1"), _order("figure1"))
    cut = assembly.ports[assembly.kernels[3].ports].rows
    rows = list(assembly.rows)
    rows[cut] = replace(rows[cut], offset=rows[cut].offset + 16)
    with pytest.raises(ProofError, match="should be"):
        proved(replace(assembly, rows=tuple(rows)))


def test_moves_come_before_the_operator_that_needs_the_room() -> None:
    assembly = assemble(graph_of("branchy-cell"), _order("branchy-cell"), allocator="compacting")
    moves = iter(assembly.placement.moves)
    assert assembly.placement.moves
    slot = {op: slot for slot, op in enumerate(assembly.order, start=1)}
    waiting = []
    for entry in assembly.nodes:
        if isinstance(entry, MoveEntry):
            waiting.append(entry)
            continue
        assert isinstance(entry, KernelEntry)
        for made in waiting:
            move = next(moves)
            source, target = (assembly.rows[assembly.ports[made.ports + i].rows] for i in (0, 1))
            assert move.slot == slot[entry.node.op]
            assert (source.offset, target.offset) == (move.source, move.target)
            assert dict(made.slide.params.fields)["bytes"] == move.size == source.size
            assert move.target < move.source
        waiting = []
    assert not waiting
    assert next(moves, None) is None


def test_turns_are_nodes_in_the_order_of_operators() -> None:
    for network in ("figure1", "branchy-cell", "attention-block"):
        assembly = assemble(graph_of(network), _order(network))
        assert [turn.node for turn in assembly.turns if isinstance(turn, Turn)] == list(
            range(len(assembly.nodes))
        )
        ops = [entry.node.op for entry in assembly.kernels]
        assert list(dict.fromkeys(ops)) == [op for op in assembly.order if op in ops]
        most = max(
            sum(p.count for p in (*e.node.inputs, *e.node.outputs)) for e in assembly.kernels
        )
        assert assembly.pointers == most


def test_views_share_memory_and_make_no_node() -> None:
    graph = graph_of("ds-cnn-kws")
    assembly = assemble(graph, _order("ds-cnn-kws"))
    (reshape,) = (op for op in graph.ops if op.type == "RESHAPE")
    assert assembly.views == {reshape.outputs[0]: reshape.inputs[0]}
    assert reshape.id not in {entry.node.op for entry in assembly.kernels}
    tensors = {block.item for block in assembly.placement.rectangles}
    assert reshape.inputs[0] in tensors
    assert reshape.outputs[0] not in tensors


def _tensor(number: int, shape: tuple[int, ...], **fields: object) -> Tensor:
    quant = Quant((0.5,), (3,), 0)
    values: dict[str, object] = {"dtype": DType.INT8, "quant": quant, **fields}
    return Tensor(number, f"t{number}", shape, **values)  # type: ignore[arg-type]  # fields of different types


def _reshaped(*shapes: tuple[int, ...]) -> Graph:
    """Reshapes one after the other: the input, then each shape from the one before."""
    tensors = tuple(_tensor(i, shape) for i, shape in enumerate(shapes))
    ops = tuple(Op(i, "RESHAPE", (i,), (i + 1,)) for i in range(len(shapes) - 1))
    return Graph("reshapes", tensors, ops, (0,), (len(shapes) - 1,))


@pytest.mark.parametrize("mode", ["resident", "const"])
def test_a_chain_of_views_is_one_buffer(mode: InputMode) -> None:
    assembly = assemble(_reshaped((1, 12), (3, 4), (2, 6)), (0, 1), input_mode=mode)
    proved(assembly)
    if not assembly.nodes:  # nothing to do: what is given is what is left
        assert assembly.given[0] == assembly.left[2]
        assert assembly.left[2][0] == (ARENA if mode == "resident" else FIRST_INPUT)
        assert assembly.arena_bytes == (16 if mode == "resident" else 0)


def _added(outputs: tuple[int, ...], inputs: tuple[int, ...] = (0, 1), **of: object) -> Graph:
    """Tensor 2 is the sum of tensors 0 and 1; **of are tensor 1's fields."""
    a, b, out = (_tensor(i, (1, 4, 4, 2), **(of if i == 1 else {})) for i in range(3))
    add = Op(0, "ADD", (0, 1), (2,), {"fused_activation_function": 0})
    return Graph("add", (a, b, out), (add,), inputs, outputs)


_IDENTITY = Graph("identity", (_tensor(0, (1, 4, 4, 2)),), (), (0,), (0,))
_ODD = {
    "reshapes": _reshaped((1, 12), (3, 4), (2, 6)),
    "reshaped rows": _reshaped((1, 6, 5, 2), (30, 2), (1, 1, 60)),
    "its input": _IDENTITY,
    "its input twice": replace(_IDENTITY, outputs=(0, 0)),
    "one output twice": _added((2, 2)),
    "an input beside": _added((2, 0)),
    "an input alone": _added((1,)),
    "a constant that is read": _added((2, 1), (0,), data=bytes(32)),
    "nothing given": replace(
        _added((2,), (), data=bytes(32)),
        tensors=(
            _tensor(0, (1, 4, 4, 2), data=bytes(32)),
            *_added((2,), (), data=bytes(32)).tensors[1:],
        ),
    ),
}


@pytest.mark.parametrize("name", _ODD)
def test_streams_of_odd_graphs(name: str) -> None:
    graph = _ODD[name]
    for given, left in (*STREAMS, ("resident", "resident"), ("const", "resident")):
        order = range(len(graph.ops))
        program = assemble(graph, order, schedule="rows", input_mode=given, output_mode=left)
        _check_streams(program, given, left)


def test_rows_of_a_stream_are_as_the_tensor_is_cut_or_as_its_shape_says() -> None:
    """A whole map that one step reads is given row by row all the same."""
    transposed = _tensor(2, (1, 3, 6, 4)), _tensor(1, (4,), dtype=DType.INT32, quant=None)
    order = np.array([0, 3, 1, 2], "<i4").tobytes()
    tensors = (_tensor(0, (1, 6, 4, 3)), replace(transposed[1], data=order), transposed[0])
    graph = Graph("turned", tensors, (Op(0, "TRANSPOSE", (0, 1), (2,)),), (0,), (2,))
    program = assemble(graph, (0,), schedule="rows", input_mode="streamed", output_mode="streamed")
    exchanged = {
        ("in" if e.exchange.given else "out"): e.exchange.steps
        for e in program.nodes
        if isinstance(e, ExchangeEntry)
    }
    assert exchanged["in"] % 6 == 0
    assert exchanged["out"] % 3 == 0


def test_inputs_elsewhere_have_bases_of_their_own() -> None:
    a, b, out = (_tensor(i, (1, 4, 4, 2)) for i in range(3))
    graph = Graph("add", (a, b, out), (Op(0, "ADD", (0, 1), (2,)),), (0, 1), (2,))
    assembly = assemble(graph, (0,), input_mode="const")
    assert assembly.given[0] == (FIRST_INPUT, 0)
    assert assembly.given[1] == (FIRST_INPUT + 1, 0)
    assert assembly.left[2] == (ARENA, 0)
    assert assembly.arena_bytes == 32
    assert {r.base for r in assembly.rows if r.tensor < 2} == {FIRST_INPUT, FIRST_INPUT + 1}
    proved(assembly)


def test_operands_that_are_constant_form_one_aligned_blob() -> None:
    data = bytes(range(20))
    tensors = (
        _tensor(0, (1, 20)),
        _tensor(1, (1, 20), data=data),
        _tensor(2, (1, 20)),
        _tensor(3, (1, 20), data=data[::-1]),
        _tensor(4, (1, 20)),
    )
    ops = (Op(0, "ADD", (0, 1), (2,)), Op(1, "ADD", (2, 3), (4,)))
    assembly = assemble(Graph("adds", tensors, ops, (0,), (4,)), (0, 1))
    used = [r for r in assembly.rows if r.base == CONSTANTS]
    if used:  # an operator may also take its constants through its params
        assert [r.offset % 16 for r in used] == [0] * len(used)
        assert data in assembly.constants
        assert data[::-1] in assembly.constants
    proved(assembly)


def _svdf(dtype: DType, zero: int) -> Graph:
    """Two SVDF layers, each with a state: 4 inputs, 3 units of rank 1, memory of 5 or 7."""
    quant = Quant((0.25,), (zero,), 0)
    tensors = [_tensor(0, (1, 4))]
    ops = []
    for layer, memory in enumerate((5, 7)):
        before, width = tensors[-1].id, tensors[-1].shape[1]
        at = len(tensors)
        size = 2 if dtype is DType.INT16 else 1
        tensors += [
            _tensor(at, (3, width), data=bytes(3 * width), quant=Quant((0.5,), (0,), 0)),
            _tensor(
                at + 1,
                (3, memory),
                dtype=dtype,
                data=bytes(3 * memory * size),
                quant=Quant((0.5,), (0,), 0),
            ),
            _tensor(at + 2, (3,), dtype=DType.INT32, data=bytes(12)),
            _tensor(at + 3, (1, 3 * memory), dtype=dtype, quant=quant, is_variable=True),
            _tensor(at + 4, (1, 3)),
        ]
        inputs = (before, at, at + 1, at + 2, at + 3)
        ops.append(
            Op(layer, "SVDF", inputs, (at + 4,), {"rank": 1, "fused_activation_function": 0})
        )
    return Graph("svdf", tuple(tensors), tuple(ops), (0,), (tensors[-1].id,))


def _variables(graph: Graph, align: int) -> Assembly:
    return assemble(graph, range(len(graph.ops)), align=align)


@pytest.mark.parametrize(("dtype", "zero", "fill"), [(DType.INT8, -7, 0xF9), (DType.INT16, 0, 0)])
@pytest.mark.parametrize("align", [4, 16])
def test_variables_keep_memory_of_their_own(dtype: DType, zero: int, fill: int, align: int) -> None:
    assembly = _variables(_svdf(dtype, zero), align)
    first, second = assembly.variables
    assert first.offset == 0
    assert second.offset >= first.offset + first.size
    assert [v.offset % align for v in assembly.variables] == [0, 0]
    width = dtype.bits // 8
    assert [v.size for v in assembly.variables] == [15 * width, 21 * width]
    assert [v.fill for v in assembly.variables] == [fill, fill]
    assert assembly.state_bytes == second.offset + second.size
    assert assembly.arena_bytes == assembly.placement.arena_bytes
    proved(assembly)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_elements_of_eight_bytes_are_aligned_to_eight(allocator: str) -> None:
    """Whatever alignment is asked for: C does not allow such an element at a multiple of four."""
    for seed in range(12):
        graph = show_signal_state(parse(signal_network(seed)).graph)
        made = assemble(graph, range(len(graph.ops)), allocator=allocator, align=4)
        tensors = made.program_graph.tensors
        wide = [
            r for r in made.rows if r.tensor < len(tensors) and tensors[r.tensor].dtype.bits == 64
        ]
        assert all(rows.offset % 8 == 0 for rows in wide)
        assert made.align == (8 if wide else 4)
