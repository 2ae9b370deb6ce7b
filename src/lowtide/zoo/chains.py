"""The three linear chains of the fused-layer papers, and classifiers made of them.

Why: published peak-memory figures are for these chains, which have no biases (the files hold zeros,
as int8 kernels demand some), activations or residual additions. Where the papers pad symmetrically we
use TFLite's SAME: the shapes agree.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.zoo.builder import Act, NetBuilder


@dataclass(frozen=True, slots=True)
class Bneck:
    """Inverted bottleneck: 1x1 to `expand` channels, depthwise, 1x1 to `out`; 0 means no first one."""

    expand: int
    kernel: int
    stride: int
    out: int


@dataclass(frozen=True, slots=True)
class ChainNet:
    """A chain: square RGB input, a 3x3 stride-2 stem, blocks, perhaps a last 1x1 (0: none).

    The rest is for the classifier: number of classes, deviation of the logits (large enough for a
    peaked softmax, as a trained one), and whether it pools with MEAN or with a pool and a reshape.
    """

    name: str
    size: int
    stem: int
    blocks: tuple[Bneck, ...]
    last: int
    classes: int
    logit_spread: float
    mean_head: bool


# fmt: off
MBV2 = ChainNet(
    name="mbv2-w0.35-144",
    size=144,
    stem=11,
    blocks=(
        Bneck(11, 3, 1, 5),
        Bneck(30, 3, 2, 8), Bneck(48, 3, 1, 8),
        Bneck(48, 3, 2, 11), Bneck(66, 3, 1, 11), Bneck(66, 3, 1, 11),
        Bneck(66, 3, 2, 22), *[Bneck(132, 3, 1, 22)] * 3,
        Bneck(132, 3, 1, 33), Bneck(198, 3, 1, 33), Bneck(198, 3, 1, 33),
        Bneck(198, 3, 2, 56), Bneck(336, 3, 1, 56), Bneck(336, 3, 1, 56),
        Bneck(336, 3, 1, 112),
    ),
    last=448,
    classes=1000,
    logit_spread=6.0,
    mean_head=True,
)

MN2_VWW5 = ChainNet(
    name="mn2-vww5-80",
    size=80,
    stem=16,
    blocks=(
        Bneck(0, 3, 1, 8),
        Bneck(48, 3, 2, 16), Bneck(48, 3, 1, 16), Bneck(48, 3, 1, 16),
        Bneck(48, 7, 2, 24), Bneck(144, 3, 1, 24), Bneck(120, 5, 1, 24),
        Bneck(144, 7, 2, 40), Bneck(240, 7, 1, 40),
        Bneck(240, 3, 1, 48), Bneck(192, 3, 1, 48),
        Bneck(240, 5, 2, 96), Bneck(480, 3, 1, 96), Bneck(384, 3, 1, 96),
        Bneck(288, 7, 1, 160),
    ),
    last=0,
    classes=2,
    logit_spread=0.3,
    mean_head=False,
)

MN2_320K = ChainNet(
    name="mn2-320k-176",
    size=176,
    stem=16,
    blocks=(
        Bneck(0, 3, 1, 8),
        Bneck(24, 7, 2, 16), Bneck(80, 3, 1, 16), Bneck(80, 7, 1, 16), Bneck(64, 5, 1, 16),
        Bneck(80, 5, 2, 24), Bneck(120, 5, 1, 24), Bneck(120, 5, 1, 24),
        Bneck(120, 3, 2, 40), Bneck(240, 7, 1, 40), Bneck(160, 5, 1, 40),
        Bneck(200, 5, 1, 48), Bneck(240, 7, 1, 48), Bneck(240, 3, 1, 48),
        Bneck(288, 3, 2, 96), Bneck(480, 7, 1, 96), Bneck(384, 3, 1, 96),
        Bneck(480, 7, 1, 160),
    ),
    last=0,
    classes=1000,
    logit_spread=6.0,
    mean_head=False,
)
# fmt: on


def chain(net: ChainNet) -> bytes:
    """The chain alone, (1, size, size, 3) -> (1, h, w, channels), as a .tflite file."""
    builder = NetBuilder(f"{net.name}-chain", seed=net.name)
    return builder.finish(_layers(builder, net))


def classifier(net: ChainNet) -> bytes:
    """The same chain, weights included, then global pooling, a dense layer and a softmax."""
    builder = NetBuilder(net.name, seed=net.name)
    x = _layers(builder, net)
    if net.mean_head:
        x = builder.mean(x, "head/pool")
    else:
        x = builder.average_pool(x, "head/pool")
        x = builder.reshape(x, "head/flatten", (1, x.shape[3]))
    return builder.finish(builder.probabilities(x, net.classes, net.logit_spread))


def _layers(builder: NetBuilder, net: ChainNet) -> Act:
    x = builder.input((1, net.size, net.size, 3))
    x = builder.conv(x, "stem", net.stem, 3, 2, bias=False)
    for number, block in enumerate(net.blocks):
        name = f"block_{number}"
        if block.expand:
            x = builder.conv(x, f"{name}/expand", block.expand, bias=False)
        x = builder.depthwise(x, f"{name}/depthwise", block.kernel, block.stride, bias=False)
        x = builder.conv(x, f"{name}/project", block.out, bias=False)
    if net.last:
        x = builder.conv(x, "last", net.last, bias=False)
    return x
