"""Pairs that cannot meet, each by a rule that names the refusal or the line of code that excludes it.

Why named: a pair that is called impossible is never tried. So a rule points at a text of the sources,
which a test looks for, or at options that are refused, which a test gives. A pair that has met in spite
of a rule makes the bench fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lowtide.ir.signal import STATEFUL
from pairs.calls import (
    BLOCKS,
    IN_BLOCKS,
    JOINED,
    JOINING,
    POINTWISE,
    cores_of,
    families_of,
    has_lean_form,
    stem_of,
    stems_of,
    types_by_name,
    types_with,
)
from pairs.features import NO, YES, Pair, families
from pairs.reached import IMAGES
from pairs.universe import kernels, types_of, universe

_Excludes = Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """Pairs that `excludes` says, of two features by name, for a `reason`: `text` stands in the file
    `where` of the sources. What of it are options alone is `refused` as fields of `Options`."""

    reason: str
    where: str
    text: str
    excludes: _Excludes
    refused: tuple[Mapping[str, Any], ...] = ()

    @property
    def pairs(self) -> frozenset[Pair]:
        """Those of the universe that it excludes."""
        return frozenset(pair for pair in universe() if self.excludes(dict(pair)))


REFERENCES = "oracle/tflm.toml"
"""Where it is said which types the reference interpreters run."""

_CELLS = frozenset({"lstm", "svdf"})
"""Families all of whose operators keep state."""

_SOUND = frozenset(family for family, of in families().items() if of.keys() <= STATEFUL)
"""Families of signal operators that remember what came before."""


_TOTALS = frozenset({"totals"})
"""The family of sums over the rows of a window that slides."""

_WITHOUT_FILTERS = ("lt_conv_s16", "lt_conv_2x2", "lt_conv_lanes")


def _is(**wanted: str) -> _Excludes:
    """A pair of these two features."""
    return lambda of: of == wanted


def _one_of(name: str, other: str, excludes: Callable[[str, str], bool]) -> _Excludes:
    """A pair of features of these names whose values are so."""
    return lambda of: of.keys() == {name, other} and excludes(of[name], of[other])


def _without_lean(stems: Iterable[str]) -> bool:
    """Whether none of the kernels has a lean form. That of images has those of the kernels it calls,
    which are among them."""
    return not any(has_lean_form(stem) for stem in stems if stem != IMAGES)


def _stems_for(kind: str) -> frozenset[str]:
    """The kernels for a type."""
    return frozenset(stem for stem in map(stem_of, kernels()) if kind in _types_of_kernel(stem))


@cache
def _types_of_kernel(stem: str) -> frozenset[str]:
    told = types_by_name(stem)
    return types_with(stem) if told is None else types_with(stem) & told


_OPTIONS = "commands/options.py"

RULES: tuple[Rule, ...] = (
    Rule(
        "the new rows of a window that slides are streamed in, or stay with the caller",
        _OPTIONS,
        'given = "const" if self.input_mode == "const" else "streamed"',
        _is(hop=YES, input="resident"),
    ),
    Rule(
        "outputs of a window that slides are complete only after its last row",
        _OPTIONS,
        '"--output streamed": self.output_mode == "streamed"',
        _is(hop=YES, output="streamed"),
        ({"hop": 1, "output_mode": "streamed"},),
    ),
    Rule(
        "a window that slides is a schedule of rows",
        _OPTIONS,
        '"--schedule operators": self.schedule == "operators"',
        _is(hop=YES, unit="operators"),
        ({"hop": 1, "schedule": "operators"},),
    ),
    Rule(
        "rows of a window that slides are as the file has them",
        _OPTIONS,
        '"--input-layout nhwc": self.input_layout == "nhwc"',
        _is(hop=YES, layout="nhwc input"),
        ({"hop": 1, "input_layout": "nhwc"},),
    ),
    Rule(
        "operators that run one after the other need their whole input",
        _OPTIONS,
        "operators that run one after the other need their whole input",
        lambda of: of.get("unit") == "operators" and "streamed" in of.values(),
        tuple(
            {"schedule": "operators", mode: "streamed"} for mode in ("input_mode", "output_mode")
        ),
    ),
    Rule(
        "operators that run one after the other have no stages: no strips, no blocks, normal forms",
        "program/assemble.py",
        "nodes = [node for index in order for node in lowered[index].nodes]",
        lambda of: (
            of.get("unit") == "operators"
            and any(of.get(name) == YES for name in ("strips", "blocks", "lean"))
        ),
    ),
    Rule(
        "a network with state slides no window",
        "passes/hop/slide.py",
        "keeps state from one run to the next, so the",
        lambda of: (
            of.get("hop") == YES and (of.get("state") == YES or _are_all(of, _CELLS | _SOUND))
        ),
    ),
    Rule(
        "sums over rows are made of a window that slides, whose limits are theirs",
        "passes/hop/slide.py",
        "TotalOp(id=-1, inputs=(totals, self.take(of.source, of.new)), zero=of.zero)",
        lambda of: (
            _are_all(of, _TOTALS)
            and (
                of.get("hop") == NO
                or of.get("unit") == "operators"
                or of.get("state") == YES
                or of.get("input") == "resident"
                or of.get("output") == "streamed"
                or of.get("layout") == "nhwc input"
            )
        ),
    ),
    Rule(
        "all operators of the family keep state",
        "ir/state.py",
        '_CELLS = ("LSTM", "RNN", "SVDF")',
        lambda of: of.get("state") == NO and _are_all(of, _CELLS),
    ),
    Rule(
        "the family has no kernel for the type",
        "lower/__init__.py",
        "its type is {kind.name}, but its kernels are for {names}",
        _one_of("family", "type", lambda family, kind: kind not in types_of(family)),
    ),
    Rule(
        "handles of variables go before anything is lowered",
        "passes/variables.py",
        "the VAR_HANDLEs go",
        lambda of: of.get("type") == "resource",
    ),
    Rule(
        "neither the family's lowering nor what that uses names the kernel",
        "lower/__init__.py",
        "lowering.lower(context)",
        _one_of("family", "kernel", lambda family, name: stem_of(name) not in stems_of(family)),
    ),
    Rule(
        "concatenations that are put together where they are read are of int8",
        "rows/blocks.py",
        "len(parts) <= MOST_PARTS and out.dtype is DType.INT8",
        _one_of(
            "family",
            "kernel",
            lambda family, name: (
                family == JOINING
                and stem_of(name) in POINTWISE
                and "int8" not in _types_of_kernel(stem_of(name))
            ),
        ),
    ),
    Rule(
        "only bytes with a scale are joined through tables",
        "lower/concat.py",
        'context.op.type != "CONCATENATION" or out.dtype not in (DType.INT8, DType.UINT8)',
        _is(type="bool", kernel="lt_concat_u8"),
    ),
    Rule(
        "only int8 and uint8 are resized with weights",
        "lower/resize.py",
        '"RESIZE_BILINEAR": Lowering(_bilinear, frozenset({DType.INT8, DType.UINT8}))',
        _is(type="bool", kernel="lt_resize_u8"),
    ),
    Rule(
        "neither reference interpreter finds the greatest of int16: there is nothing to compare with",
        REFERENCES,
        'ARG_MAX = ["int8"]',
        lambda of: (
            of in ({"family": "arg", "type": "int16"}, {"type": "int16", "kernel": "lt_arg"})
        ),
    ),
    Rule(
        "neither reference interpreter resizes int64: there is nothing to compare with",
        REFERENCES,
        'RESIZE_NEAREST_NEIGHBOR = ["int8", "int16", "int32"]',
        _is(family="resize", type="int64"),
    ),
    Rule(
        "energies and spectra are of int16, what filters make of them is not",
        "lower/features.py",
        '"SignalFilterBankSquareRoot": Lowering(_square_root, frozenset({DType.UINT64}))',
        _one_of(
            "type",
            "kernel",
            lambda kind, name: (
                (name == "lt_spectrum" and kind != "int16")
                or (name == "lt_filter_bank" and kind == "int16")
            ),
        ),
    ),
    Rule(
        "int16 layers that have filters of their own for each channel are depthwise",
        "lower/families/conv_s16.py",
        "return not layer.filters",
        _one_of(
            "family",
            "kernel",
            lambda family, name: family == "depthwise" and stem_of(name) in _WITHOUT_FILTERS,
        ),
    ),
    Rule(
        "of several groups, which dense layers have not, or else another kernel comes first",
        "lower/families/conv_2x2.py",
        "return not (layer.filters or (apart and layer.target.is_portable)) and layer.groups == 1",
        _one_of(
            "family",
            "kernel",
            lambda family, name: family == "fully_connected" and name == "lt_conv_s16",
        ),
    ),
    Rule(
        "a layer is depthwise only if its channels are filtered one by one",
        "lower/layer.py",
        "return self.filters > 0 and (self.over.in_c > 1 or self.filters == 1)",
        _one_of(
            "family",
            "kernel",
            lambda family, name: name.startswith("lt_depthwise") and family != "depthwise",
        ),
    ),
    Rule(
        "blocks are made of pointwise and depthwise convolutions, and of concatenations before them",
        "rows/blocks.py",
        "return graph.ops[number].window is not None and _is_pointwise(lowered[number])",
        _one_of(
            "family",
            "kernel",
            lambda family, name: stem_of(name) in BLOCKS and family not in (*IN_BLOCKS, JOINING),
        ),
    ),
    Rule(
        "a block's kernel runs where there is a block",
        "lower/block.py",
        "lt_block",
        lambda of: (
            stem_of(of.get("kernel", "")) in (*BLOCKS, JOINED)
            and (of.get("blocks") == NO or of.get("unit") == "operators")
        ),
    ),
    Rule(
        "the name of each of the kernel's functions has its type",
        "lower/layer.py",
        'kernel=f"{family}_{self.suffix}_row"',
        _one_of("type", "kernel", lambda kind, name: kind not in _types_of_kernel(stem_of(name))),
    ),
    Rule(
        "the core runs another variant of the kernel, or the kernel is for other cores alone",
        "target.py",
        "Whether kernels for the DSP extension alone may be used",
        lambda of: (
            "kernel" in of
            and (
                not cores_of(of["kernel"])
                or ("core" in of and of["core"] not in cores_of(of["kernel"]))
            )
        ),
    ),
    Rule(
        "lt_conv_lanes is for the same layers, and comes first on cores that surely have Helium",
        "lower/families/__init__.py",
        '"s16": (conv_lanes.FAMILY, conv_2x2.FAMILY,',
        _is(kernel="lt_conv_2x2 helium", core="cortex-m55"),
    ),
    Rule(
        "the kernel has one form",
        "lower/layer.py",
        "There is a `lean` form where that is less",
        _one_of(
            "kernel", "lean", lambda name, lean: lean == YES and not has_lean_form(stem_of(name))
        ),
    ),
    Rule(
        "dense layers make one pixel a row, for which all forms of a kernel need the same scratch",
        "lower/layer.py",
        "many = more if self.over.out_w > 1 else one",
        _is(family="fully_connected", lean=YES),
    ),
    Rule(
        "all kernels of the family, or of the type, have one form",
        "lower/nodes.py",
        "forms: tuple[Node, ...] = field(default=(), repr=False)",
        lambda of: (
            of.get("lean") == YES
            and (
                ("family" in of and _without_lean(stems_of(of["family"])))
                or ("type" in of and _without_lean(_stems_for(of["type"])))
            )
        ),
    ),
)


def _are_all(of: Mapping[str, str], some: frozenset[str]) -> bool:
    """Whether the pair has a family of these, or a kernel or type that no other family has."""
    found = {of["family"]} if "family" in of else set()
    found |= families_of(stem_of(of["kernel"])) if "kernel" in of else set()
    found |= {f for f in families() if of["type"] in types_of(f)} if "type" in of else set()
    return bool(found) and found <= some


@cache
def impossible() -> Mapping[Pair, Rule]:
    """Each pair that cannot meet, and the first rule that says so."""
    return {pair: rule for rule in reversed(RULES) for pair in rule.pairs}


@cache
def possible() -> frozenset[Pair]:
    """The others."""
    return frozenset(universe() - impossible().keys())
