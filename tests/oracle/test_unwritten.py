"""What TFLM does not write is not compared; all else is, also beside it."""

from __future__ import annotations

import numpy as np

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.oracle.unwritten import agreed, flags, unwritten


def graph_of(*ops: Op, shapes: dict[int, tuple[int, ...]]) -> Graph:
    tensors = tuple(Tensor(i, f"t{i}", shapes[i], DType.INT32) for i in range(len(shapes)))
    return Graph("main", tensors, ops, (0,), (ops[-1].outputs[0],))


def test_energies_beyond_the_end() -> None:
    options = {"end_index": 3, "start_index": 1}
    energy = Op(0, "CUSTOM", (0,), (1,), options, "SignalEnergy")
    graph = graph_of(
        energy,
        Op(1, "CAST", (1,), (2,)),
        Op(2, "ABS", (2,), (3,)),
        shapes=dict.fromkeys(range(4), (5,)),
    )
    masks = unwritten(graph, {})
    assert list(masks) == [1, 2]
    assert all(mask.tolist() == [True, False, False, True, True] for mask in masks.values())
    told = {t: np.array([9, 1, 2, 9, 9]) for t in (1, 2, 3)}
    made = agreed(graph, told, {t: np.array([0, 1, 7, 0, 0]) for t in (1, 2, 3)})
    assert made[1].tolist() == made[2].tolist() == [9, 1, 7, 9, 9]
    assert made[3].tolist() == [0, 1, 7, 0, 0]


def test_frames_that_are_not_there() -> None:
    framer = Op(0, "CUSTOM", (0,), (1, 2), {}, "SignalFramer")
    shapes = {0: (3,), 1: (1, 3), 2: (), 3: (1, 3)}
    graph = graph_of(framer, Op(1, "ABS", (1,), (3,)), shapes=shapes)
    assert flags(graph) == [2]
    assert unwritten(graph, {2: np.array(True)}) == {}
    masks = unwritten(graph, {2: np.array(False)})
    assert sorted(masks) == [1, 3]
    assert all(mask.all() for mask in masks.values())
