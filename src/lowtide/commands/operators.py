"""Which operators and types are compiled, beside those of TensorFlow Lite Micro.

Why a file with its variants and not its package: which operators there are the package says, but the
types of a kernel are only in its sources.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from lowtide.ir import DType
from lowtide.ir.soundness import BRANCHES
from lowtide.lower import CUSTOM, LOWERINGS
from lowtide.passes.nibbles import READERS

_ORDER = (
    *(DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.UINT32, DType.INT64),
    *(DType.UINT64, DType.BOOL, DType.FLOAT32, DType.RESOURCE),
)

WEIGHTS = "int4-weights"
"""In a list of types: weights may be of four bits."""

INLINED = "as part of the network"
"""Instead of a list of types: its subgraphs' operators take its place."""

_FILE = Path(__file__).parent.parent / "oracle" / "tflm.toml"


@dataclass(frozen=True, slots=True)
class Beside:
    """One operator: the types in which TFLM has it and in which it is compiled, and of the former those
    in which it is not, with why. `custom` operators have the name of their code."""

    name: str
    tflm: tuple[str, ...]
    ours: tuple[str, ...]
    missing: tuple[str, ...]
    reason: str
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """All operators of either; `sources` is the date of TFLM's sources. `floats` are those that TFLM has
    for floats alone, and we not at all."""

    sources: str
    rows: tuple[Beside, ...]
    floats: tuple[str, ...]

    @property
    def variants(self) -> tuple[int, int]:
        """(integer variants of TFLM that are compiled, all)."""
        theirs = (r for r in self.rows if r.tflm or r.missing or r.ours == (INLINED,))
        every = sum(max(1, len(row.tflm)) for row in theirs)
        return every - sum(len(row.missing) for row in self.rows), every


def against_tflm() -> Comparison:
    """The operators of TFLM that compute with integers, beside ours."""
    known = tomllib.loads(_FILE.read_text("utf-8"))
    reasons: dict[str, str] = known["reasons"]
    theirs = {name: tuple(types) for name, types in known["operators"].items()}
    rows = [_row(name, theirs.get(name, ()), reasons) for name in sorted({*theirs, *LOWERINGS})]
    for name in known["custom"]:
        types = tuple(known["custom_types"].get(name, ()))
        rows.append(_row(name, types, reasons, custom=True))
    floats = tuple(name for name in known["floats"]["operators"] if name not in LOWERINGS)
    return Comparison(known["sources"], tuple(rows), floats)


def _row(
    name: str, types: tuple[str, ...], reasons: dict[str, str], *, custom: bool = False
) -> Beside:
    lowering = (CUSTOM if custom else LOWERINGS).get(name)
    kinds = frozenset[DType]() if lowering is None else lowering.types
    ours = tuple(kind.name.lower() for kind in _ORDER if kind in kinds)
    if name in READERS:
        ours += (WEIGHTS,)
    if name in BRANCHES:
        ours = (INLINED,)
    missing = tuple(kind for kind in types if kind not in ours)
    if not types and not ours:  # control flow, which has no activations
        missing = ("all",)
    said = {reasons.get(f"{name} {kind}", reasons.get(name, "no kernel yet")) for kind in missing}
    return Beside(name, types, ours, missing, "; ".join(sorted(said)), custom)
