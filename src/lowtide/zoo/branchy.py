"""Networks with branches, whose peak depends on the order of the operators.

Why: reordering has nothing to gain on a chain. `figure1` is the literature's example; `branchy-cell`
has the shape of what architecture search finds, many small branches joined by many concats.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation

_RELU6 = Activation.RELU6


def figure1() -> bytes:
    """The example graph: tensors of 1568, 3136, 1568, 512, 512, 256, 256, 512 bytes, ops 1 to 7."""
    net = NetBuilder("figure1", signature=False)
    t0 = net.input((1, 7, 7, 32))
    t1 = net.conv(t0, "op1", 64, 1, 1, _RELU6)
    t2 = net.conv(t1, "op2", 32, 1, 1, _RELU6)
    t3 = net.depthwise(t2, "op3", 3, 2, _RELU6)
    t4 = net.conv(t1, "op4", 32, 1, 2, _RELU6)
    t5 = net.conv(t3, "op5", 16, 1, 1, _RELU6)
    t6 = net.conv(t4, "op6", 16, 1, 1, _RELU6)
    return net.finish(net.concat([t5, t6], "op7"))


@dataclass(frozen=True, slots=True)
class Node:
    """One operator: `sources` are names of earlier nodes; `size` is channels, or a kernel's edge."""

    kind: str
    sources: str
    size: int = 0
    stride: int = 1


# Every branch widens before it narrows, and every join reads nodes of different depth.
# fmt: off
_CELLS: dict[str, Node] = {
    "stem": Node("conv3", "image", 16, 2),
    # First cell, 24x24.
    "a1": Node("conv1", "stem", 32), "a2": Node("dw", "a1", 5), "a3": Node("conv1", "a2", 8),
    "b1": Node("conv1", "stem", 32), "b2": Node("dw", "b1", 3), "b3": Node("conv1", "b2", 8),
    "c1": Node("max", "stem", 3), "c2": Node("conv1", "c1", 8),
    "d1": Node("concat", "a3 b3"), "d2": Node("concat", "b3 c2"),
    "d3": Node("concat", "a3 b3 c2"),
    "e1": Node("dw", "d1", 3, 2), "e2": Node("conv1", "e1", 24),
    "f1": Node("conv1", "d2", 24), "f2": Node("dw", "f1", 3, 2), "f3": Node("conv1", "f2", 16),
    "g1": Node("avg", "d3", 3, 2), "g2": Node("conv1", "g1", 16),
    "h1": Node("concat", "e2 f3"), "h2": Node("concat", "f3 g2"),
    # Second cell, 12x12.
    "i1": Node("conv1", "h1", 64), "i2": Node("dw", "i1", 5), "i3": Node("conv1", "i2", 16),
    "j1": Node("conv1", "h2", 64), "j2": Node("dw", "j1", 3), "j3": Node("conv1", "j2", 16),
    "k1": Node("add", "i3 j3"), "k2": Node("concat", "e2 g2"), "k3": Node("conv1", "k2", 16),
    "l1": Node("concat", "i3 j3 k3"), "l2": Node("concat", "k1 k3"),
    "m1": Node("dw", "l1", 3, 2), "m2": Node("conv1", "m1", 32),
    "n1": Node("max", "l2", 3, 2), "n2": Node("conv1", "n1", 32),
    "out": Node("concat", "m2 n2 m1"),
}
# fmt: on


def branchy_cell() -> bytes:
    """Two cells, (1, 48, 48, 3) -> (1, 10), as a .tflite file.

    Operators are emitted breadth first, by depth: a valid order in which all branches of a cell are
    open at the same time. All tensors that meet in a concat are behind a ReLU6, so share one scale.
    """
    depth = {"image": 0}
    for name, node in _CELLS.items():
        depth[name] = 1 + max(depth[source] for source in node.sources.split())
    net = NetBuilder("branchy-cell", signature=False)
    acts = {"image": net.input((1, 48, 48, 3))}
    for name in sorted(_CELLS, key=lambda name: depth[name]):
        node = _CELLS[name]
        acts[name] = _apply(net, name, node, [acts[source] for source in node.sources.split()])
    x = net.mean(acts["out"], "head/pool")
    return net.finish(net.probabilities(x, 10, 2.0))


def _apply(net: NetBuilder, name: str, node: Node, sources: list[Act]) -> Act:
    x, *_ = sources
    match node.kind:
        case "conv1":
            return net.conv(x, name, node.size, 1, node.stride, _RELU6)
        case "conv3":
            return net.conv(x, name, node.size, 3, node.stride, _RELU6)
        case "dw":
            return net.depthwise(x, name, node.size, node.stride, _RELU6)
        case "max":
            return net.max_pool(x, name, node.size, node.stride)
        case "avg":
            return net.average_pool(x, name, node.size, node.stride, same=True)
        case "add":
            return net.add(x, sources[1], name, _RELU6)
        case "concat":
            return net.concat(sources, name)
        case kind:
            raise ValueError(f"{name}: no operator is called {kind!r}")
