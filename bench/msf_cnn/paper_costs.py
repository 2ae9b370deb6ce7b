"""What a fused block of layers costs in the msf-CNN paper: bytes of RAM and MACs.

Why: "equation n" below is the paper's. It and the released analysis code (commit fd74a7c) disagree in
places, and both count multiplications that no program makes. So every figure has one function for each
way to count it, and an `Accounting` names one combination.

Their scheme (H-cache): a block makes one output row at a time. A layer's *tile* is as many of its input
rows as that row needs; rows shared with the next tile are read, and made, again. Within the tile,
nothing is computed twice. Layers are convolutions without biases, one byte per element, batch 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

Shape = tuple[int, int, int]
"""Height, width, channels."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A square convolution; `pad` is added on all four sides."""

    depthwise: bool
    in_shape: Shape
    out_shape: Shape
    kernel: int
    stride: int
    pad: int

    @property
    def in_bytes(self) -> int:
        """I of equation 5."""
        return prod(self.in_shape)

    @property
    def out_bytes(self) -> int:
        """O of equation 5."""
        return prod(self.out_shape)

    @property
    def macs_per_element(self) -> int:
        """MACs for one output element."""
        return self.kernel**2 * (1 if self.depthwise else self.in_shape[2])


Block = Sequence[Layer]
"""Consecutive layers that run together; a block of one layer runs that layer alone."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Input rows that a layer reads for one output row of its block, and how far the next ones are."""

    rows: int
    stride: int


@dataclass(frozen=True, slots=True)
class Cost:
    """P and C of equations 6 and 7, of a block or of a whole setting."""

    bytes: int
    macs: int


@dataclass(frozen=True, slots=True)
class Accounting:
    """One way to count: a fused block's cache, its MACs, and what may be fused.

    `ends`: the network's input and output count as RAM. `tile_fits`: a block whose first tile is
    larger than its input map, padding left out, may not be fused (the code's rule, not the paper's).
    """

    name: str
    cache: Callable[[Block], int]
    macs: Callable[[Block], int]
    ends: bool = False
    tile_fits: bool = False


def tiles(block: Block) -> list[Tile]:
    """Tile size t and tile stride of each layer (Appendix C), for one output row of the block."""
    rows = stride = 1
    found = []
    for layer in reversed(block):
        rows = (rows - 1) * layer.stride + layer.kernel
        stride *= layer.stride
        found.append(Tile(rows, stride))
    return found[::-1]


def cache_as_published(block: Block) -> int:
    """Equation 11 in bytes: t * k * c_in of each layer, and none for the first."""
    pairs = list(zip(block, tiles(block), strict=True))
    return sum(tile.rows * layer.kernel * layer.in_shape[2] for layer, tile in pairs[1:])


def cache_as_coded(block: Block) -> int:
    """The released code's bytes for equation 11: the first layer's counted, and other tile sizes.

    The code walks a tile over the map and keeps the sizes of the last one. That tile gets a layer's
    padding on top if it begins at row 0 and below if it ends beyond the map, and the layer's own stride
    has been divided out of its position already when that is asked.
    """
    first = tiles(block)[0]
    start = (block[0].in_shape[0] - first.rows) // first.stride * first.stride
    rows, stride, total = first.rows, 1, 0
    for layer in block:
        total += rows * layer.kernel * layer.in_shape[2]
        stride *= layer.stride
        begin = start // stride
        edges = (begin == 0) + (begin + rows >= layer.in_shape[0])
        rows = (rows - layer.kernel + edges * layer.pad) // layer.stride + 1
    return total


def _computed(block: Block) -> list[int]:
    # Output pixels that each layer computes: tiles (equation 12) times those of one tile (equation
    # 13 without its channels; "c^layer" there must be the layer's stride).
    counts = []
    for layer, tile in zip(block, tiles(block), strict=True):
        height, width, _ = layer.in_shape
        down = (height + 2 * layer.pad - tile.rows) // tile.stride + 1
        across = (width + 2 * layer.pad - layer.kernel) // layer.stride + 1
        counts.append(down * across * ((tile.rows - layer.kernel) // layer.stride + 1))
    return counts


def macs_as_coded(block: Block) -> int:
    """Equations 12 to 15 as the released code has them, where equation 14 has c_in (depthwise: 1).

    Too few for a deep block on a small map: a layer's tiles are counted with its own padding only, so
    where a later layer pads, those before it have fewer tiles than the block has output rows.
    """
    pixels = zip(block, _computed(block), strict=True)
    return sum(count * layer.out_shape[2] * layer.macs_per_element for layer, count in pixels)


def macs_as_published(block: Block) -> int:
    """Equation 14 to the letter: k**2 * c_out for each element, so c_out twice and c_in nowhere."""
    pixels = zip(block, _computed(block), strict=True)
    return sum(count * (layer.out_shape[2] * layer.kernel) ** 2 for layer, count in pixels)


def macs_clipped(block: Block) -> int:
    """What the scheme really computes: for every output row, all rows of the maps that it needs.

    Rows outside a map are zeros and are not computed. At the left and right, padding counts, as in
    the MACs of a layer alone.
    """
    total = 0
    spans = [(row, row + 1) for row in range(block[-1].out_shape[0])]
    for layer in reversed(block):
        rows = sum(stop - begin for begin, stop in spans)
        total += rows * prod(layer.out_shape[1:]) * layer.macs_per_element
        spans = [_needed(layer, span) for span in spans]
    return total


def _needed(layer: Layer, span: tuple[int, int]) -> tuple[int, int]:
    # The input rows, inside the map, for these output rows.
    begin, stop = span
    return (
        max(0, begin * layer.stride - layer.pad),
        min(layer.in_shape[0], (stop - 1) * layer.stride - layer.pad + layer.kernel),
    )


def may_fuse(block: Block, accounting: Accounting) -> bool:
    """Whether the block is an edge of the paper's graph at all. A layer alone always is."""
    if len(block) == 1 or not accounting.tile_fits:
        return True
    return tiles(block)[0].rows <= min(block[0].in_shape[:2])


def block_cost(layers: Block, first: int, stop: int, accounting: Accounting) -> Cost:
    """Equation 5, I + O + Buf, and equation 15, for the block `layers[first:stop]` of a network."""
    block = layers[first:stop]
    ram = accounting.cache(block) if len(block) > 1 else 0
    if first > 0 or accounting.ends:
        ram += block[0].in_bytes
    if stop < len(layers) or accounting.ends:
        ram += block[-1].out_bytes
    return Cost(ram, accounting.macs(block))


def setting_cost(layers: Block, cuts: Sequence[int], accounting: Accounting) -> Cost:
    """Equations 6 and 7 of a fusion setting: its dearest block's bytes, and all blocks' MACs.

    `cuts` are where blocks begin, from 0, and the number of layers at the end.
    """
    costs = [block_cost(layers, first, stop, accounting) for first, stop in pairwise(cuts)]
    return Cost(max(cost.bytes for cost in costs), sum(cost.macs for cost in costs))


AS_CODED = Accounting("as coded", cache_as_coded, macs_as_coded, tile_fits=True)
"""The released code's, and Table 1's."""
AS_PUBLISHED = Accounting("as published", cache_as_published, macs_as_published, tile_fits=True)
"""The paper's equations to the letter; equation 12 makes no sense where the tile does not fit."""
CLIPPED = Accounting("ends ignored, exact MAC", cache_as_published, macs_clipped)
"""Equation 11, and the MACs that the scheme really needs."""
CLIPPED_WITH_ENDS = Accounting(
    "I/O counted, exact MAC", cache_as_published, macs_clipped, ends=True
)
"""The same with the network's input and output in RAM."""
