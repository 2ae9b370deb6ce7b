"""What the texts of lowering and of kernels' headers say: who may call which kernel, for what.

Why from texts: a list by hand would go stale, and no program shows what cannot be. What they say may be
more than what can be; if it is less, a program shows it, and the bench fails.
"""

from __future__ import annotations

import re
from functools import cache

from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import targets
from lowtide.target import ANY, Target
from pairs.features import families, variant
from pairs.reached import IMAGES, imported, named_by
from pairs.universe import lowering_texts, named_in, types_of

_ROW = re.compile(r"\bvoid (lt_\w+)\(const void \*params, const lt_step \*step\);")
_FLIPS = re.compile(r"\b(in_)?flip;")
_OF_TYPES = {
    "s8": ("int8",),
    "u8": ("int8", "uint8", "bool"),  # bytes may be flipped, or 0 and 1
    "b8": ("bool",),
    "8": ("int8", "uint8", "bool"),
    "s16": ("int16",),
    "s32": ("int32",),
    "s64": ("int64",),
    "f32": ("float32",),
}
BLOCKS = ("lt_block", "lt_block_4x2", "lt_block_vector")
IN_BLOCKS = ("conv", "depthwise")
"""Families whose operators blocks are made of."""
JOINED = "lt_joined"
JOINING = "concat"
POINTWISE = ("lt_conv_4x2", "lt_conv_lanes", "lt_conv_packed", "lt_conv_scalar", "lt_conv_vector")
"""The kernel of concatenations that are put together where they are read, as the first part of a block;
their family; and the kernels that read them."""

NARROW = {
    "has_dsp": (
        *("lt_add_narrow", "lt_block_4x2", "lt_conv_4x2"),
        *("lt_depthwise_3x3", "lt_depthwise_columns"),
    ),
    "has_helium": (
        *("lt_block_vector", "lt_conv_lanes", "lt_conv_vector"),
        *("lt_depthwise_planes", "lt_depthwise_vector"),
    ),
    "is_portable": ("lt_conv_scalar", "lt_depthwise_scalar"),
    "is_particular": ("lt_depthwise_each",),
}
"""Property of a target -> the kernels that are chosen for such targets alone."""


def stem_of(kernel: str) -> str:
    """The kernel without its variant."""
    return kernel.partition(" ")[0]


@cache
def stems_of(family: str) -> frozenset[str]:
    """The kernels that the family may call, those of blocks of it included."""
    if family == JOINING:
        return named_by(family) | {*BLOCKS, JOINED, *POINTWISE}
    return named_by(family) | ({*BLOCKS, JOINED} if family in IN_BLOCKS else set())


@cache
def families_of(stem: str) -> frozenset[str]:
    """The families that may call a kernel."""
    return frozenset(family for family in families() if stem in stems_of(family))


@cache
def types_by_name(stem: str) -> frozenset[str] | None:
    """The types that the names of a kernel's functions say; None if one says none, or if they say what
    is summed up. What is stored as uint8 is for a kernel of int8 that flips it."""
    if families_of(stem) == {"totals"}:
        return None
    if stem == JOINED:  # which is for what blocks are made of
        return types_by_name(BLOCKS[0])
    text = kernel_files()[f"{stem}.h"]
    found: set[str] = {"uint8"} if _FLIPS.search(text) else set()
    for name in _ROW.findall(text):
        of = name.replace("lt_quantize_", "lt_quantize_f32_")  # which says only what it makes
        told = next((part for part in of.split("_") if part in _OF_TYPES), None)
        if told is None:
            return None
        found.update(_OF_TYPES[told])
    return frozenset(found) or None


@cache
def types_with(stem: str) -> frozenset[str]:
    """The types of the families that may call it."""
    return frozenset(kind for family in families_of(stem) for kind in types_of(family))


@cache
def has_lean_form(stem: str) -> bool:
    """Whether the file of its family of kernels, or that of blocks, makes nodes of several forms; that
    of images has those of the kernels that it calls."""
    texts = lowering_texts()
    makers = [
        module
        for module, text in texts.items()
        if (module.startswith("families.") or module in ("block", "joined"))
        and ("forms=" in text or "by_pixels(" in text)
    ]
    named = {name for module in makers for name in named_in(texts[module])}
    for module in makers:  # whose least forms may be another family's
        named |= {n for of in imported(module) & _families() for n in named_in(texts[of])}
    return stem == IMAGES or stem in named


def _families() -> set[str]:
    """The files of families of kernels."""
    return {module for module in lowering_texts() if module.startswith("families.")}


@cache
def cores_of(kernel: str) -> frozenset[str]:
    """The cores on which a kernel may run in that variant: any of those that a program for any core
    may run on."""
    stem = stem_of(kernel)
    needs = next((name for name, of in NARROW.items() if stem in of), None)

    def runs(target: Target) -> bool:
        if target.core == ANY.core:
            return needs is None
        return variant(stem, target) == kernel and (needs is None or getattr(target, needs))

    return frozenset(core for core, target in targets().items() if runs(target))
