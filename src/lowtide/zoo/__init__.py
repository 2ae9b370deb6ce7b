"""The zoo: int8 networks made by our own code, so that nothing has to be downloaded to try lowtide.

Why: figures about memory only need architectures, not trained weights. Every network here is built
from its architecture table with seeded weights and calibrated quantisation, the same bytes on every
machine. Listing names imports neither numpy nor the .tflite schema.
"""

from __future__ import annotations

import difflib

from lowtide.errors import UsageError

_DESCRIPTIONS: dict[str, str] = {
    "figure1": "the seven-operator example graph of the operator-reordering paper, 7x7x32 input",
    "mbv2-w0.35-144-chain": "MobileNetV2 0.35 as a plain chain of 53 convolutions, 144x144x3",
    "mn2-vww5-80-chain": "MCUNetV2-VWW-5fps as a plain chain of 45 convolutions, 80x80x3",
    "mn2-320k-176-chain": "MCUNetV2-320KB as a plain chain of 54 convolutions, 176x176x3",
    "mbv2-w0.35-144": "mbv2-w0.35-144-chain with MEAN and a softmax over 1000 classes",
    "mn2-vww5-80": "mn2-vww5-80-chain with average pooling and a softmax over 2 classes",
    "mn2-320k-176": "mn2-320k-176-chain with average pooling and a softmax over 1000 classes",
    "mobilenet-v2-0.35-144": "MobileNetV2 0.35 with residual ADDs and ReLU6, 144x144x3, 1000 classes",
    "mobilenet-v1-0.25-96": "MobileNetV1 0.25 for visual wake words (MLPerf Tiny), 96x96x3, 2 classes",
    "resnet8": "ResNet-8 for image classification (MLPerf Tiny), 32x32x3, 10 classes",
    "ds-cnn-kws": "DS-CNN for keyword spotting (MLPerf Tiny), 49x10x1, 12 classes",
    "wake-word-window": "streaming wake word (MLPerf Tiny) on whole windows, 30 rows of 40, 3 classes",
    "attention-block": "multi-head self-attention with residual, 64 tokens, 4 heads, width 64",
    "attention-block-128": "multi-head self-attention with residual, 128 tokens, 4 heads, width 64",
    "attention-block-256": "multi-head self-attention with residual, 256 tokens, 4 heads, width 64",
    "branchy-cell": "two NAS-style cells with many concatenations, in a wasteful order, 48x48x3",
    "streaming-wake-word": "streaming wake word, state in five variables, 3 rows of 40 features a call",
    "streaming-voice-activity": "the same for voice activity, but smaller, state in four variables",
    "audio-front-end": "10 ms of sound at 16 kHz to 40 features, by TFLM's signal operators, with state",
    "lstm-gestures": "LSTM of 16 units that keeps its state between calls, 8x6, 5 classes",
}


def names() -> tuple[str, ...]:
    """Names of all networks, in the order in which to show them."""
    return tuple(_DESCRIPTIONS)


def describe(name: str) -> str:
    """One line about the network `name`; raises UsageError for an unknown name."""
    _check(name)
    return _DESCRIPTIONS[name]


def build(name: str, *, floats: bool = False) -> bytes:
    """The network `name` as the contents of a .tflite file; raises UsageError for an unknown name.

    The bytes depend on the name alone: weights and calibration inputs are seeded with it. With `floats`,
    it is as a training framework has it, before it is quantised; one with state has no such form.
    """
    _check(name)
    from lowtide.zoo.catalogue import BUILDERS  # numpy and the schema, only when needed
    from lowtide.zoo.floats import with_floats

    file = BUILDERS[name]()
    return with_floats(file, name) if floats else file


def _check(name: str) -> None:
    if name in _DESCRIPTIONS:
        return
    close = difflib.get_close_matches(name.lower(), _DESCRIPTIONS, n=3, cutoff=0.4)
    close += [known for known in _DESCRIPTIONS if name and name.lower() in known]
    meant = f"did you mean {' or '.join(dict.fromkeys(close))}? `lowtide zoo` lists all"
    remedy = meant if close else f"use one of: {', '.join(_DESCRIPTIONS)}"
    raise UsageError(f"the zoo has no network named {name!r}", remedy)
