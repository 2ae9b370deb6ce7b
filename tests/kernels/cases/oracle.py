"""The references of the cases against the interpreters: a kernel might agree with a mistake of ours.

Why many operators in one model: starting an interpreter takes longer than all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from lowtide.oracle.interpreters import reference_tensors
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write

from .drawing import Case, Draw, RedrawError
from .families import FAMILIES

_SAMPLES = 3
_UNKNOWN = {
    *("ARG_MAX INT16", "ARG_MIN INT16", "QUANTIZE INT32 UINT8", "QUANTIZE INT32 INT32"),
    *("QUANTIZE UINT8 INT32", "QUANTIZE UINT8 INT16", "QUANTIZE INT16 UINT8"),
}
"""What no interpreter runs, but kernels do."""


def _drawn(family: str, seed: int, count: int) -> list[Case]:
    rng = np.random.default_rng([seed, zlib.crc32(family.encode())])
    cases: list[Case] = []
    while len(cases) < count:
        try:
            cases.append(FAMILIES[family](Draw(rng, _SAMPLES, fresh=True)))
        except RedrawError:
            continue
    return cases


def _kind(case: Case) -> tuple[str, ...]:
    """What says which interpreter can run it: the operator and the types."""
    op = case.spec.ops[0]
    tensors = [case.spec.tensors[t].dtype for t in (*op.inputs, *op.outputs) if t >= 0]
    more = ["INT4"] if any(t.dtype == "INT4" for t in case.spec.tensors) else []
    return (op.kind, *tensors[:1], *tensors[-1:], *more, *(["once"] if case.once else []))


def _joined(cases: Sequence[Case]) -> tuple[NetSpec, list[int]]:
    """One network of all, and the number of each one's first tensor."""
    first, tensors, ops = list[int](), list[TensorSpec](), list[OpSpec]()
    for case in cases:
        at = len(tensors)
        first.append(at)
        tensors += [replace(t, name=f"c{at}{t.name}") for t in case.spec.tensors]
        for op in case.spec.ops:
            inputs = tuple(t + at if t >= 0 else -1 for t in op.inputs)
            ops.append(replace(op, inputs=inputs, outputs=tuple(t + at for t in op.outputs)))
    given = [t + at for case, at in zip(cases, first, strict=True) for t in case.spec.inputs]
    outputs = [t + at for case, at in zip(cases, first, strict=True) for t in case.spec.outputs]
    return NetSpec("cases", tuple(tensors), tuple(ops), tuple(given), tuple(outputs)), first


def differences(family: str, seed: int, count: int) -> tuple[list[str], dict[str, int]]:
    """Where a family's reference and an interpreter differ; and how many outputs each was asked for."""
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in _drawn(family, seed, count):
        kind = _kind(case)
        if not {" ".join(kind), " ".join(kind[:2])} & _UNKNOWN:
            groups.setdefault(kind, []).append(case)
    lines, asked = list[str](), dict[str, int]()
    for kind, cases in groups.items():
        net, first = _joined(cases)
        inputs = [
            {
                t + at: case.samples[t][sample]
                for case, at in zip(cases, first, strict=True)
                for t in case.spec.inputs
            }
            for sample in range(_SAMPLES)
        ]
        engine: Literal["auto", "litert"] = "litert" if cases[0].once else "auto"
        found = reference_tensors(write(net), inputs, net.outputs, engine=engine)
        for case, at in zip(cases, first, strict=True):
            for tensor, want in zip(case.spec.outputs, case.wanted, strict=True):
                asked[found.engine] = asked.get(found.engine, 0) + 1
                got = np.stack([sample[tensor + at] for sample in found.samples])
                bad = np.argwhere(got != want)
                if len(bad):
                    place = tuple(bad[0])
                    values = f"{got[place]} instead of {want[place]}"
                    lines.append(f"{kind} by {found.engine}: {len(bad)} of {got.size}, {values}")
    return lines, asked
