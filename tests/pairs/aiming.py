"""Draws towards pairs that have not met: what a missing pair asks of a network and of options.

Which networks hold a family, a type or a kernel is learnt from earlier draws, right or not. Where two of
these are missing in one operator, networks of few operators are looked at until one may hold them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hunting import GENERATORS
from lowtide.target import ANY
from lowtide.tflite.read import parse
from pairs.calls import families_of, stem_of
from pairs.drawing import BOARDS, Draw, Outcome
from pairs.features import NO, OPERATOR, YES, Feature, Pair, families, family_of
from pairs.front import Front
from pairs.universe import ALIGNMENTS, values

_EFFORT = 0.1
_KNOWN = 60
"""Draws that are remembered for each feature, the latest ones."""
_STATEFUL = ("variables", "signal")
_LOOKED_AT = 150
"""Networks that are looked at, at most, for one that may hold what is missing."""
_AS_LITERT = "lt_fully_connected_once"
"""The kernel of dense layers that are rounded as LiteRT does."""
_COARSE = ("lt_block", "lt_conv", "lt_conv_packed", "lt_depthwise_mult1")
"""Kernels that cores with others take for large weights alone."""
_SLIDES = frozenset({("kernel", "lt_slide"), ("kernel", "lt_total"), ("family", "totals")})
"""What is there while a window slides: rows that stay the same are moved, or summed up."""


@dataclass(slots=True)
class Aim:
    """Draws by `rng`; `known` are draws that hold a feature, `tries` how often a pair was aimed at;
    `coarse` says that the last one needs large weights."""

    rng: Random
    known: dict[Feature, list[Draw]] = field(default_factory=dict)
    tries: Counter[Pair] = field(default_factory=Counter)
    coarse: bool = False

    def learn(self, outcome: Outcome) -> None:
        """Remember what a draw holds."""
        for feature in {f for pair in outcome.pairs for f in pair if f[0] in OPERATOR}:
            draws = self.known.setdefault(feature, [])
            draws.append(outcome.draw)
            del draws[:-_KNOWN]

    def draw(self, missing: Collection[Pair]) -> Draw:
        """A draw that may hold one of the missing pairs, of those that were aimed at least often."""
        rng = self.rng
        some = rng.sample(sorted(missing), min(len(missing), 40))
        aimed = min(some, key=lambda pair: (self.tries[pair], rng.random()))
        self.tries[aimed] += 1
        base = self._base([f for f in aimed if f[0] in OPERATOR])
        self.coarse = any(stem_of(value) in _COARSE for _, value in aimed)
        once = ("kernel", _AS_LITERT) in aimed or rng.random() < 0.05
        wants = {name: value for name, value in aimed if name not in OPERATOR}
        wants |= {"lean": YES} if ("lean", YES) in aimed else {}
        wants |= {"hop": YES} if _SLIDES & {*aimed} else {}
        kernel = any(name == "kernel" for name, _ in aimed)
        keeps = kernel and "core" not in wants and rng.random() < 0.8  # kernels depend on it
        if keeps:
            wants["core"] = base.options.get("target", ANY.core)
        drawn = self._with(base, wants)
        if once:
            drawn = replace(drawn, options={**drawn.options, "rounding": "litert"})
        return replace(drawn, on=base.on) if keeps else drawn

    def _base(self, features: Sequence[Feature]) -> Draw:
        rng = self.rng
        found = [f for f in features if self.known.get(f)]
        if _SLIDES & {*features} and rng.random() < 0.5:
            return Draw("sliding", rng.randrange(10**6))
        alone = {name for name, _ in features} - {"lean"}
        if (len(alone) > 1 or (alone and not found)) and rng.random() < 0.8:
            sought = self._sought(dict(features))
            if sought is not None:
                return sought
        if found and rng.random() < 0.85:
            # the feature that the fewest draws hold
            draw = rng.choice(self.known[min(found, key=lambda f: len(self.known[f]))])
            return draw if rng.random() < 0.7 else replace(draw, seed=rng.randrange(10**6))
        return Draw(rng.choice((*GENERATORS, "rare", "lone", "lone")), rng.randrange(10**6))

    def _sought(self, features: dict[str, str]) -> Draw | None:
        """A network that has an operator of this family and type; of a kernel, of a family that may call
        it."""
        able = (
            set(families())
            if "kernel" not in features
            else families_of(stem_of(features["kernel"]))
        )
        able = able & {features["family"]} if "family" in features else able
        kind = features.get("type")
        for _ in range(_LOOKED_AT):
            draw = Draw("lone", self.rng.randrange(10**6))
            graph = parse(draw.file, path="network.tflite").graph
            for op in graph.ops:
                types = {graph.tensors[t].dtype.name.lower() for t in op.inputs if t >= 0}
                if family_of(op) in able and (kind is None or kind in types):
                    return draw
        return None

    def _with(self, base: Draw, wants: dict[str, str]) -> Draw:
        """The network of `base`, maybe with another front, and options that give what is wanted."""
        rng = self.rng
        given: dict[str, Any] = {
            "effort": _EFFORT,
            "target": wants.get("core", rng.choice(values()["core"])),
            "align": int(wants.get("alignment", rng.choice(ALIGNMENTS))),
            "slices": self._is(wants, "slices", 0.3),
            "simplify": wants.get("simplify", rng.choice(("off", "on", "on"))) != "off",
        }
        hop = wants.get("hop") == YES or (self._may_slide(wants) and self._is(wants, "hop", 0.12))
        narrow = {name: self._is(wants, name, 0.25) for name in ("strips", "blocks", "lean")}
        if hop:
            given["hop"] = rng.choice((1, 2, 2, 3))
            given["input_mode"] = wants.get("input", rng.choice(("const", "streamed")))
            given |= self._plan(narrow)
        elif self._is_by_rows(wants):
            given["input_mode"] = wants.get("input", rng.choice(("resident", "const", "streamed")))
            given["output_mode"] = wants.get("output", rng.choice(("resident", "streamed")))
            given |= self._plan(narrow)
        else:
            given["schedule"] = "operators"
            given["allocator"] = rng.choice(("planned", "greedy", "compacting"))
            given["input_mode"] = wants.get("input", rng.choice(("resident", "const")))
        state = self._is(wants, "state", 0.25) and not hop
        needed = any(narrow.values()) or (hop and rng.random() < 0.6)
        front = self._front(base, wants, state=state, needed=needed)
        if front is not None:
            given |= {"input_layout": "nhwc"} if front.turned_input else {}
            given |= {"output_layout": "nhwc"} if front.turned_output else {}
        on = rng.choice(("", *BOARDS)) if given["target"] == ANY.core else ""
        return Draw(base.generator, base.seed, front, given, on)

    def _front(
        self, base: Draw, wants: dict[str, str], *, state: bool, needed: bool
    ) -> Front | None:
        layout = wants.get("layout", "file")
        if wants.get("state") == YES and base.generator not in _STATEFUL:
            needed = True
        if needed or layout != "file" or self.rng.random() < 0.3:
            turned = layout == "nhwc input", layout == "nhwc output"
            coarse = self.rng.random() < (0.7 if self.coarse else 0.08)
            return Front(self.rng.randrange(10**6), *turned, state, coarse)
        front = base.front
        if front is None or front.turned_input or front.turned_output or front.state != state:
            return None
        return front if self.rng.random() < 0.3 else None

    def _is_by_rows(self, wants: dict[str, str]) -> bool:
        if wants.get("unit", "rows") != "rows":
            return False
        asked = any(wants.get(name) == YES for name in ("strips", "blocks", "lean"))
        streams = "streamed" in (wants.get("input"), wants.get("output"))
        return asked or streams or "unit" in wants or self.rng.random() < 0.75

    @staticmethod
    def _may_slide(wants: dict[str, str]) -> bool:
        """Whether nothing that is wanted excludes a window that slides."""
        return (
            wants.get("input", "streamed") != "resident"
            and wants.get("output", "resident") == "resident"
            and wants.get("unit", "rows") == "rows"
            and wants.get("layout") != "nhwc input"
            and wants.get("state", NO) == NO
        )

    def _plan(self, narrow: dict[str, bool]) -> dict[str, Any]:
        """Limits for which there are strips, blocks or lean forms, if they are asked for."""
        rng = self.rng
        if narrow["strips"]:
            return {"max_overhead": rng.choice((float("inf"), float("inf"), 3.0))}
        if narrow["blocks"] or narrow["lean"]:
            return dict(
                rng.choice(({"smallest": True}, {"max_overhead": 1.0}, {"max_overhead": 2.0}))
            )
        if rng.random() < 0.3:
            return dict(rng.choice(({"fastest": True}, {"smallest": True}, {"max_overhead": 1.3})))
        return {}

    def _is(self, wants: dict[str, str], name: str, chance: float) -> bool:
        """Whether it is asked for, or else by chance."""
        return wants[name] == YES if wants.get(name) in (YES, NO) else self.rng.random() < chance
