"""What the kernels with features of their own do in some steps: how many of each thing that costs.

The names are those that costs.toml has, by kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from lowtide.lower.nodes import Params

CONVOLUTION = "lt_conv_packed_s8_row"
DEPTHWISE = frozenset({"lt_depthwise_quick_s8_row", "lt_depthwise_quick_s8_plain"})


def numbers(params: Params) -> dict[str, int]:
    """The fields of a params struct that are whole numbers."""
    return {name: value for name, value in params.fields if isinstance(value, int)}


def convolution(
    steps: int, fields: Mapping[str, int], columns: int, rows_read: tuple[int, int], padded: int
) -> dict[str, float]:
    """lt_conv_packed: pixels two by two, an odd one or all lean ones alone.

    `rows_read` are the rows of all its windows: those that exist, and padding.
    """
    quads, out_c = fields["quads"], fields["out_c"]
    run = fields["kernel_w"] * fields["in_c"]
    pairs, singles = (0, columns) if fields["lean"] else (columns // 2, columns % 2)
    channels = -(-out_c // 2)
    found = {
        "pair": steps * pairs,
        "pair_channels": steps * pairs * channels,
        "pair_elements": steps * pairs * out_c,
        "pair_products": steps * pairs * channels * quads,
        "single": steps * singles,
        "single_channels": steps * singles * channels,
        "single_elements": steps * singles * out_c,
        "single_products": steps * singles * channels * quads,
        "single_tails": steps * singles * channels if run * fields["kernel_h"] % 4 else 0,
        "clamped": steps * columns * out_c if _clamps(fields) else 0,
    }
    if fields["direct"]:
        return {**found, "direct_words": steps * pairs * 2 * quads}
    rows, padding = rows_read
    edges = "copied_edges" if fields["in_c"] % 4 or fields["lean"] else "unpacked_edges"
    unpacked, copied = (0, columns) if fields["in_c"] % 4 else (2 * pairs, singles)
    return {
        **found,
        "unpacked_rows": (rows + padding) * unpacked,
        "unpacked_words": rows * unpacked * (run // 4),
        "unpacked_padding": padding * unpacked * (run // 4),
        "copied_rows": (rows + padding) * copied,
        "copied_words": rows * copied * (run // 4),
        "copied_bytes": rows * copied * (run % 4),
        "copied_padding": padding * copied * run,
        "copied_unpacked": steps * 2 * pairs * quads if not unpacked else 0,
        edges: rows * padded,
    }


def depthwise(
    steps: int, rows: int, fields: Mapping[str, int], columns: int, padded: int
) -> dict[str, float]:
    """lt_depthwise_quick: a list of taps per pixel, then channels four by four, the rest one by one.

    `rows` are those of all its windows that are no padding.
    """
    channels = fields["channels"]
    blocks, rest = divmod(channels, 4)
    taps = rows * (columns * fields["kernel_w"] - padded)
    return {
        "window": steps * fields["kernel_h"] * fields["kernel_w"],
        "column": steps * columns,
        "taps": taps,
        "blocks": steps * columns * blocks,
        "block_rows": rows * columns * blocks,
        "block_taps": taps * blocks,
        "rest": steps * columns * rest,
        "rest_rows": rows * columns * rest,
        "rest_taps": taps * rest,
        "clamped": steps * columns * channels if _clamps(fields) else 0,
    }


def _clamps(fields: Mapping[str, int]) -> bool:
    return fields["low"] > -128 or fields["high"] < 127
