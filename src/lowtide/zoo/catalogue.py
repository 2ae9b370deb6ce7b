"""Which function builds which network.

Why apart from the package's `__init__`: importing this module imports numpy and all architectures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lowtide.zoo.attention import attention_block
from lowtide.zoo.audio import front_end
from lowtide.zoo.branchy import branchy_cell, figure1
from lowtide.zoo.chains import MBV2, MN2_320K, MN2_VWW5, chain, classifier
from lowtide.zoo.mlperf import ds_cnn, mobilenet_v1, resnet8, wake_word_window
from lowtide.zoo.mobilenet_v2 import mobilenet_v2
from lowtide.zoo.stateful import lstm_gestures, voice_activity, wake_word

BUILDERS: Mapping[str, Callable[[], bytes]] = {
    "figure1": figure1,
    "mbv2-w0.35-144-chain": partial(chain, MBV2),
    "mn2-vww5-80-chain": partial(chain, MN2_VWW5),
    "mn2-320k-176-chain": partial(chain, MN2_320K),
    "mbv2-w0.35-144": partial(classifier, MBV2),
    "mn2-vww5-80": partial(classifier, MN2_VWW5),
    "mn2-320k-176": partial(classifier, MN2_320K),
    "mobilenet-v2-0.35-144": partial(mobilenet_v2, 0.35, 144, 1000),
    "mobilenet-v1-0.25-96": partial(mobilenet_v1, 0.25, 96, 2),
    "resnet8": resnet8,
    "ds-cnn-kws": ds_cnn,
    "wake-word-window": wake_word_window,
    "attention-block": partial(attention_block, 64),
    "attention-block-128": partial(attention_block, 128),
    "attention-block-256": partial(attention_block, 256),
    "branchy-cell": branchy_cell,
    "streaming-wake-word": wake_word,
    "streaming-voice-activity": voice_activity,
    "audio-front-end": front_end,
    "lstm-gestures": lstm_gestures,
}
"""Every name of `lowtide.zoo.names()` with the function that builds its file."""
