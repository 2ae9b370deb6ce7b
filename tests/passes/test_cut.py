"""Parts of graphs: what stays, what goes, and which cuts cannot be.

That a part computes what the whole network does is checked in tests/commands/test_cutting.py.
"""

from __future__ import annotations

import random
import re

import pytest
from test_passes import tensor

from lowtide.errors import UsageError
from lowtide.ir import DType, Graph, Op
from lowtide.ir.soundness import verify
from lowtide.passes import cut, resolve_variables
from networks import loaded, model_of


def branchy() -> Graph:
    """0 -> 1 -> 2, (1, 2) -> 3 -> 4; input 5 -> 6; outputs 4 and 6; 7 is a constant."""
    ops = (
        Op(0, "RELU", (0,), (1,)),
        Op(1, "RELU", (1,), (2,)),
        Op(2, "ADD", (1, 2), (3,)),
        Op(3, "RELU", (3,), (4,)),
        Op(4, "RELU", (5,), (6,)),
    )
    tensors = (*(tensor(i, (1, 4)) for i in range(7)), tensor(7, (4,), data=b"abcd"))
    return verify(Graph("g", tensors, ops, (0, 5), (4, 6)))


def ends(graph: Graph) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, ...]]]:
    return graph.inputs, graph.outputs, [op.outputs for op in verify(graph).ops]


def test_up_to_a_tensor() -> None:
    assert ends(cut(branchy(), until=(3,))) == ((0,), (3,), [(1,), (2,), (3,)])
    assert ends(cut(branchy(), until=(6, 1))) == ((0, 5), (6, 1), [(1,), (6,)])
    assert cut(branchy(), until=(3,)).tensors == branchy().tensors


def test_from_a_tensor() -> None:
    """Outputs that do not depend on it are no outputs of the part."""
    assert ends(cut(branchy(), begin=(3,))) == ((3,), (4,), [(4,)])
    assert ends(cut(branchy(), begin=(2, 1))) == ((2, 1), (4,), [(3,), (4,)])
    assert ends(cut(branchy(), begin=(1,), until=(3,))) == ((1,), (3,), [(2,), (3,)])
    assert ends(cut(branchy(), begin=(1, 1))) == ((1,), (4,), [(2,), (3,), (4,)])


@pytest.mark.parametrize(
    ("begin", "until", "message"),
    [
        (
            (2,),
            (),
            "tensor 4 also depends on input 0 of the network, by a path that bypasses tensor 2\n"
            "  remedy: give `--from 1,2`, which all paths pass, or end earlier with --until",
        ),
        (
            (3, 5),
            (4,),
            "tensor 4 does not depend on tensor 5, which --from names\n"
            "  remedy: leave it out of --from, or end elsewhere with --until",
        ),
        (
            (3,),
            (2,),
            "tensor 2 does not depend on tensor 3\n"
            "  remedy: name tensors in --from that come before all those in --until",
        ),
        (
            (2,),
            (2,),
            "tensor 2 is in --from and an output\n"
            "  remedy: name tensors in --from that come before all those in --until",
        ),
        (
            (),
            (5,),
            "tensor 5 (t5) is an input of the network: nothing is computed up to there\n"
            "  remedy: name a tensor in --until that an operator makes",
        ),
        (
            (),
            (7,),
            "tensor 7 (t7) is a constant: nothing is computed up to there\n"
            "  remedy: name a tensor in --until that an operator makes",
        ),
        (
            (7,),
            (),
            "tensor 7 (t7) is a constant, which your program cannot give\n"
            "  remedy: name a tensor in --from that an operator makes",
        ),
        (
            (4,),
            (),
            "no output of the network depends on tensor 4\n"
            "  remedy: name tensors on the way to an output in --from",
        ),
    ],
)
def test_a_cut_that_cannot_be(begin: tuple[int, ...], until: tuple[int, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        cut(branchy(), begin, until)
    assert str(caught.value) == message


def test_what_changes_a_variable_that_is_read_stays() -> None:
    """A variable known by name is read early, and assigned late, from what else nobody needs."""
    graph = loaded("streaming-wake-word").graph
    read = next(op for op in graph.ops if op.type == "READ_VARIABLE")
    part = cut(graph, until=read.outputs)
    kinds = [op.type for op in part.ops]
    assert (
        kinds.count("ASSIGN_VARIABLE") == 1 < [op.type for op in graph.ops].count("ASSIGN_VARIABLE")
    )
    assert sum(t.is_variable for t in resolve_variables(part).tensors) == 1


@pytest.mark.parametrize("network", [*range(12), "branchy-cell", "lstm-gestures", "resnet8"])
def test_any_tensor_can_be_an_end(network: int | str) -> None:
    """And where a way passes beside it, the remedy of the refusal is right."""
    graph = model_of(network).graph
    made = [t for op in graph.ops for t in op.outputs if graph.tensors[t].dtype is DType.INT8]
    pick = random.Random(str(network))
    for end in pick.sample(made, min(12, len(made))):
        part = verify(cut(graph, until=(end,)))
        assert part.outputs == (end,)
        assert set(part.inputs) <= set(graph.inputs)
        try:
            rest = cut(graph, begin=(end,))
        except UsageError as error:
            if "no output" in error.cause:
                assert end in graph.outputs or not any(end in op.inputs for op in graph.ops)
                continue
            told = re.search(r"--from ([0-9,]+)`", error.remedy)
            assert told is not None
            rest = cut(graph, begin=tuple(map(int, told[1].split(","))))
        assert verify(rest).outputs
        assert end in rest.inputs
