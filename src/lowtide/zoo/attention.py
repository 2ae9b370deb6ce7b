"""A multi-head self-attention block of any length.

Why: its score matrix grows with the square of the number of tokens, so that, unlike in a
convolutional network, one or two tensors decide the peak.
"""

from __future__ import annotations

from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.spec import Quant

_WIDTH = 64
_HEADS = 4
_HEAD_WIDTH = _WIDTH // _HEADS
_INPUT = Quant(0.015625, 0)  # +-2: what a normalised embedding spans
_SCORE_SPREAD = 1.5  # deviation of the scores; attention that selects, without saturating


def attention_block(tokens: int) -> bytes:
    """Self-attention with residual, (1, tokens, 64) -> the same shape, as a .tflite file.

    The division of the scores by sqrt(head width) is folded into the query projection.
    """
    name = "attention-block" if tokens == 64 else f"attention-block-{tokens}"
    net = NetBuilder(name, seed="attention-block")
    x = net.input((1, tokens, _WIDTH), _INPUT)

    def heads(part: str, gain: float) -> Act:
        y = net.fully_connected(x, part, _WIDTH, keep_num_dims=True, gain=gain)
        y = net.reshape(y, f"{part}/split", (1, tokens, _HEADS, _HEAD_WIDTH))
        return net.transpose(y, f"{part}/heads", (0, 2, 1, 3))

    query = heads("query", _SCORE_SPREAD / _HEAD_WIDTH**0.5)
    key = heads("key", 1.0)
    scores = net.batch_matmul(query, key, "scores", adj_y=True)
    attention = net.softmax(scores, "attention")
    value = heads("value", 1.0)
    context = net.batch_matmul(attention, value, "context")
    context = net.transpose(context, "context/tokens", (0, 2, 1, 3))
    context = net.reshape(context, "context/merge", (1, tokens, _WIDTH))
    y = net.fully_connected(context, "output", _WIDTH, keep_num_dims=True)
    return net.finish(net.add(x, y, "residual"))
