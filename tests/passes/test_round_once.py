"""Which operators compute otherwise where LiteRT's arithmetic is the rule."""

from __future__ import annotations

import numpy as np
import pytest

from lowtide.passes import round_once
from lowtide.tflite.read import parse
from schema_models import Net


@pytest.mark.parametrize("differs", [False, True])
def test_a_relu6_does_if_its_scales_differ(differs: bool) -> None:
    net = Net(np.int8, scale=0.05)
    source = net.input((1, 4))
    out = net.tensor((1, 4), np.int8, quant=(0.04, 0)) if differs else net.like(source)
    net.add("RELU6", [source], out)
    graph = parse(net.build()).graph
    rounded = round_once(graph)
    assert (rounded is not graph) == differs
    assert [op.as_litert for op in rounded.ops] == [differs]
