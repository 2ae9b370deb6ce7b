"""All pairs of features that there could be, before it is asked which of them are impossible."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from itertools import combinations, product
from typing import get_args

from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import targets
from lowtide.modes import InputMode, OutputMode, Schedule
from lowtide.target import DSP, HELIUM
from pairs.features import NAMES, NO, YES, Feature, Pair, families

ALIGNMENTS = ("4", "8", "16", "64")
"""Of the arena, in bytes: what options are drawn with."""

_NAMED = re.compile(r"\blt_\w+")


@cache
def values() -> dict[str, tuple[str, ...]]:
    """Feature -> its values."""
    words = dict.fromkeys(("lean", "strips", "blocks", "slices", "hop", "state"), (NO, YES))
    found = {
        "family": tuple(sorted(families())),
        "type": tuple(sorted({kind for of in families() for kind in types_of(of)})),
        "kernel": kernels(),
        "core": tuple(sorted(targets())),
        "input": get_args(InputMode),
        "output": get_args(OutputMode),
        "unit": get_args(Schedule),
        "simplify": ("off", "finds nothing", "removes"),
        "layout": ("file", "nhwc input", "nhwc output"),
        "alignment": ALIGNMENTS,
        **words,
    }
    return {name: found[name] for name in NAMES}


def types_of(family: str) -> frozenset[str]:
    """The types that the operators of a family may have."""
    return frozenset(kind.name.lower() for of in families()[family].values() for kind in of.types)


def named_in(text: str) -> set[str]:
    """The kernels that a text names: those whose C is a file of their own, with any end where the text
    breaks off at a "_", as what is put together does."""
    known = kernel_files()
    every = [name[:-2] for name in known if name.endswith(".c") and f"{name[:-2]}.h" in known]
    found = set()
    for name in _NAMED.findall(text):
        found |= {n for n in every if n == name or (name[-1] == "_" and f"{n}_".startswith(name))}
    return found


@cache
def stems() -> tuple[str, ...]:
    """The kernels that lowering names."""
    return tuple(sorted(named_in(" ".join(lowering_texts().values()))))


@cache
def kernels() -> tuple[str, ...]:
    """The kernels in all variants."""
    return tuple(
        stem if kind is None else f"{stem} {kind}"
        for stem in stems()
        for kind in (None, DSP, HELIUM)
        if kind is None or f"{stem}_{kind}.c" in kernel_files()
    )


@cache
def lowering_texts() -> dict[str, str]:
    """Module below lowtide.lower -> its text."""
    folder = resources.files("lowtide.lower")
    found = {p.name[:-3]: p.read_text("utf-8") for p in folder.iterdir() if p.name.endswith(".py")}
    for path in (folder / "families").iterdir():
        if path.name.endswith(".py"):
            found[f"families.{path.name[:-3]}"] = path.read_text("utf-8")
    return found


@cache
def universe() -> frozenset[Pair]:
    """Every two values of different features."""
    every: dict[str, list[Feature]] = {n: [(n, v) for v in of] for n, of in values().items()}
    return frozenset(
        pair for one, other in combinations(NAMES, 2) for pair in product(every[one], every[other])
    )
