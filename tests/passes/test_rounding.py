"""Which operators compute otherwise where LiteRT's arithmetic is the rule."""

from __future__ import annotations

import numpy as np
import pytest

from lowtide.passes import round_once
from lowtide.tflite.read import parse
from schema_models import Net


@pytest.mark.parametrize(("scale", "differs"), [(0.05, False), (0.04, True)])
def test_a_relu6_does_if_its_scales_differ(scale: float, differs: bool) -> None:
    net = Net(np.int8, scale=0.05)
    net.add("RELU6", [net.input((1, 4))], net.tensor((1, 4), np.int8, quant=(scale, 0)))
    graph = parse(net.build()).graph
    rounded = round_once(graph)
    assert (rounded is not graph) == differs
    assert [op.as_litert for op in rounded.ops] == [differs]
