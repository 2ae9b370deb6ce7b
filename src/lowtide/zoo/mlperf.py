"""The convolutional networks of the MLPerf Tiny benchmark.

Why: they are what microcontroller tools are usually compared on, and each stresses another case:
long chains, residual blocks, a tall narrow input.
"""

from __future__ import annotations

from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation

_RELU = Activation.RELU
_LOGIT_SPREAD = 2.0  # deviation of the logits, for a softmax that is neither flat nor saturated

# (stride of the depthwise layer, channels before scaling)
# fmt: off
_MOBILENET_V1_BLOCKS = (
    (1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512),
    *[(1, 512)] * 5, (2, 1024), (1, 1024),
)
# fmt: on


def mobilenet_v1(width: float, size: int, classes: int) -> bytes:
    """MobileNetV1, (1, size, size, 3) -> (1, classes), as a .tflite file."""
    net = NetBuilder(f"mobilenet-v1-{width}-{size}")
    x = net.input((1, size, size, 3))
    x = net.conv(x, "stem", int(32 * width), 3, 2, _RELU)
    for number, (stride, channels) in enumerate(_MOBILENET_V1_BLOCKS):
        x = net.depthwise(x, f"block_{number}/depthwise", 3, stride, _RELU)
        x = net.conv(x, f"block_{number}/pointwise", int(channels * width), 1, 1, _RELU)
    return _classify(net, x, classes)


def resnet8() -> bytes:
    """ResNet-8, (1, 32, 32, 3) -> (1, 10), as a .tflite file."""
    net = NetBuilder("resnet8")
    x = net.input((1, 32, 32, 3))
    x = net.conv(x, "stem", 16, 3, 1, _RELU)
    for number, (channels, stride) in enumerate(((16, 1), (32, 2), (64, 2))):
        name = f"stack_{number}"
        y = net.conv(x, f"{name}/conv_1", channels, 3, stride, _RELU)
        y = net.conv(y, f"{name}/conv_2", channels, 3)
        shortcut = x if stride == 1 else net.conv(x, f"{name}/shortcut", channels, 1, stride)
        x = net.add(shortcut, y, f"{name}/residual", _RELU)
    return _classify(net, x, 10)


def ds_cnn() -> bytes:
    """DS-CNN, (1, 49, 10, 1) of audio features -> (1, 12), as a .tflite file."""
    net = NetBuilder("ds-cnn-kws")
    x = net.input((1, 49, 10, 1))
    x = net.conv(x, "stem", 64, (10, 4), 2, _RELU)
    for number in range(4):
        x = net.depthwise(x, f"block_{number}/depthwise", 3, 1, _RELU)
        x = net.conv(x, f"block_{number}/pointwise", 64, 1, 1, _RELU)
    return _classify(net, x, 12)


def wake_word_window() -> bytes:
    """The streaming wake word, (1, 30, 1, 40) of audio features -> (1, 3), as a .tflite file.

    Without padding along time: of a window that moves on by a row, each layer has one new row.
    """
    net = NetBuilder("wake-word-window")
    x = net.input((1, 30, 1, 40))
    for number, (kernel, channels) in enumerate(((3, 128), (5, 128), (10, 128), (15, 32))):
        x = net.depthwise(x, f"block_{number}/depthwise", (kernel, 1), 1, _RELU, same=False)
        x = net.conv(x, f"block_{number}/pointwise", channels, 1, 1, _RELU)
    x = net.reshape(x, "head/flatten", (1, x.shape[3]))
    return net.finish(net.probabilities(x, 3, _LOGIT_SPREAD))


def _classify(net: NetBuilder, x: Act, classes: int) -> bytes:
    x = net.average_pool(x, "head/pool")
    x = net.reshape(x, "head/flatten", (1, x.shape[3]))
    return net.finish(net.probabilities(x, classes, _LOGIT_SPREAD))
