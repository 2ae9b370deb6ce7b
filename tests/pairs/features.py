"""The features that a compiled program holds, and which pairs of them meet in it.

Why pairs: each feature alone is tested. What goes wrong lies where two of them meet, so that for each
two it should be known whether they ever did, in a program whose bytes are right.

Features of `OPERATOR` are of one operator: two of them meet where they are of the same one. Those of
`PROGRAM` are of all of it, and meet whatever is in it. Both are read from what was compiled, not from
what was asked for: strips are strips of the schedule, and a kernel is one that the program calls, in
the variant that the core runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import combinations, product
from pkgutil import iter_modules

import lowtide.lower
from lowtide.commands.compiling import Compiled
from lowtide.emit.runtime import kernel_files
from lowtide.ir import Graph, Op
from lowtide.ir.operands import Operands
from lowtide.lower import lower_op
from lowtide.lower.common import Lowering
from lowtide.lower.nodes import Node
from lowtide.program.assemble import Assembly
from lowtide.target import PORTABLE, Target

OPERATOR = ("family", "type", "kernel", "lean")
PROGRAM = (
    *("core", "input", "output", "unit", "strips", "blocks", "slices", "hop", "simplify", "state"),
    *("layout", "alignment"),
)
NAMES = (*OPERATOR, *PROGRAM)

Feature = tuple[str, str]
"""(name, value)."""

Pair = tuple[Feature, Feature]
"""Two features of different names, in the order of `NAMES`."""

YES, NO = "yes", "no"


def pair(one: Feature, other: Feature) -> Pair:
    """The two in their order."""
    return (one, other) if NAMES.index(one[0]) < NAMES.index(other[0]) else (other, one)


def pairs_of(features: Iterable[Feature]) -> Iterator[Pair]:
    """All pairs of different names among them."""
    for one, other in combinations(sorted(features), 2):
        if one[0] != other[0]:
            yield pair(one, other)


@cache
def families() -> dict[str, dict[str, Lowering]]:
    """Family, a file of lower/ -> its operators, by type or by the name of a custom one: those of files,
    and those that passes make."""
    found: dict[str, dict[str, Lowering]] = {}
    for module in iter_modules(lowtide.lower.__path__):
        loaded = import_module(f"lowtide.lower.{module.name}")
        own = [vars(loaded).get(name, {}) for name in ("LOWERINGS", "CARRYING", "MADE")]
        if any(own):
            found[module.name] = {name: lowering for of in own for name, lowering in of.items()}
    return found


@cache
def _family_of() -> dict[str, str]:
    return {name: family for family, of in families().items() for name in of}


def held(compiled: Compiled, on: Target | None) -> frozenset[Pair]:
    """The pairs that meet in a program that was run on the host, or on a core with those variants."""
    program = program_features(compiled)
    pairs = set(pairs_of(program))
    for own in operator_features(compiled, on):
        pairs.update(pairs_of(own))
        pairs.update(pair(one, other) for one, other in product(own, program))
    return frozenset(pairs)


def program_features(compiled: Compiled) -> frozenset[Feature]:
    """Those of `PROGRAM`."""
    made, options = compiled.assembly, compiled.options
    plan = made.plan
    stages = () if plan is None else plan.stages
    hop = made.graph.hop is not None
    simplified = "off"
    if options.simplify:
        simplified = "removes" if compiled.simplified.dropped else "finds nothing"
    layouts = {f"nhwc {of}" for of in ("input", "output") if _is_turned(compiled, of)}
    return frozenset(
        {
            ("core", made.target.core),
            ("input", made.input_mode),
            ("output", made.output_mode),
            ("unit", "operators" if plan is None else "rows"),
            ("strips", _word(any(stage.strip_width is not None for stage in stages))),
            ("blocks", _word(any(stage.blocks for stage in stages))),
            ("slices", _word(made.costs is not None)),
            ("hop", _word(hop)),
            ("simplify", simplified),
            ("state", _word(bool(made.variables) and not hop)),
            ("alignment", str(made.align)),
            *(("layout", layout) for layout in layouts or {"file"}),
        }
    )


def _is_turned(compiled: Compiled, which: str) -> bool:
    """Whether a TRANSPOSE at that end was dropped: without one, the option is refused."""
    return bool(getattr(compiled.options, f"{which}_layout") == "nhwc")


def operator_features(compiled: Compiled, on: Target | None) -> Iterator[frozenset[Feature]]:
    """Those of `OPERATOR`: of each operator, or, where it has several kernels, of each of these."""
    made = compiled.assembly
    nodes: dict[int, list[tuple[Node, bool]]] = {}
    lean = _lean(made)
    for entry in made.kernels:
        node = entry.node
        for member in made.members.get(node.op, (node.op,)):
            nodes.setdefault(member, []).append((node, id(node) in lean))
    for op in made.graph.ops:
        own = {("family", family_of(op)), ("type", type_of(made.graph, op))}
        if op.id not in nodes:
            yield frozenset(own)
        for node, is_lean in nodes.get(op.id, ()):
            kernels = {("kernel", variant(name, on)) for name in _stems(node)}
            yield frozenset({*own, *kernels, ("lean", _word(is_lean))})


def family_of(op: Op) -> str:
    """The family of an operator."""
    return _family_of()[op.type if op.custom is None else op.custom]


def type_of(graph: Graph, op: Op) -> str:
    """The type that an operator's kernel is chosen by."""
    at, operands = families()[family_of(op)][op.custom or op.type].typed_by, Operands(graph, op)
    kind = operands.activation_type if at is None else operands.input(at).dtype
    return kind.name.lower()


def _stems(node: Node) -> set[str]:
    """The files of the kernels that a node runs: of a block its own, which calls others."""
    headers = {node.header} if node.header.startswith("lt_block") else node.headers
    return {header.removesuffix(".h") for header in headers}


def variant(stem: str, on: Target | None) -> str:
    """The kernel in its variant for a core, as "lt_conv_2x2 dsp"; "lt_conv_2x2" is portable."""
    for kind in reversed(() if on is None else on.variants):
        if kind != PORTABLE and f"{stem}_{kind}.c" in kernel_files():
            return f"{stem} {kind}"
    return stem


def _lean(made: Assembly) -> frozenset[int]:
    """The ids of the nodes that take less scratch memory than their operator's normal form."""
    if made.plan is None or not any(stage.choice.limits for stage in made.plan.stages):
        return frozenset()
    graph = made.program_graph
    found: set[int] = set()
    for number in {entry.node.op for entry in made.kernels}:
        own = [entry.node for entry in made.kernels if entry.node.op == number]
        normal = lower_op(graph, graph.ops[number], target=made.target).nodes
        if any(node.of is not None for node in own):  # parts of one
            normal = normal * len(own)
        found.update(
            id(node)
            for node, usual in zip(own, normal, strict=True)
            if node.scratch < usual.scratch
        )
    return frozenset(found)


def _word(is_so: bool) -> str:
    return YES if is_so else NO
