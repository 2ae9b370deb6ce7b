"""MobileNetV2 as published: widths in multiples of 8, residual additions, ReLU6.

Why: the papers' chain leaves out what makes the real network hard to schedule, the residuals.
"""

from __future__ import annotations

from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation

# (expansion factor, channels before scaling, repeats, stride of the first)
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_STEM, _LAST, _DIVISOR = 32, 1280, 8
_LOGIT_SPREAD = 6.0  # a peaked softmax over many classes


def make_divisible(channels: float) -> int:
    """The nearest multiple of 8, at least 8, and never more than 10 % below `channels`."""
    rounded = max(_DIVISOR, int(channels + _DIVISOR / 2) // _DIVISOR * _DIVISOR)
    return rounded + _DIVISOR if rounded < 0.9 * channels else rounded


def mobilenet_v2(width: float, size: int, classes: int) -> bytes:
    """MobileNetV2, (1, size, size, 3) -> (1, classes), as a .tflite file."""
    net = NetBuilder(f"mobilenet-v2-{width}-{size}")
    x = net.input((1, size, size, 3))
    x = net.conv(x, "stem", make_divisible(_STEM * width), 3, 2, Activation.RELU6)
    number = 0
    for factor, channels, repeats, first_stride in _STAGES:
        out = make_divisible(channels * width)
        for repeat in range(repeats):
            name, stride = f"block_{number}", first_stride if repeat == 0 else 1
            shortcut, number = x, number + 1
            if factor > 1:
                x = net.conv(x, f"{name}/expand", factor * x.shape[3], 1, 1, Activation.RELU6)
            x = net.depthwise(x, f"{name}/depthwise", 3, stride, Activation.RELU6)
            x = net.conv(x, f"{name}/project", out)
            if shortcut.shape == x.shape:
                x = net.add(shortcut, x, f"{name}/residual")
    x = net.conv(x, "last", make_divisible(_LAST * max(width, 1.0)), 1, 1, Activation.RELU6)
    x = net.mean(x, "head/pool")
    return net.finish(net.probabilities(x, classes, _LOGIT_SPREAD))
