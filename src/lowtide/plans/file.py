"""Plans as files: what `lowtide plan -o` writes and `--plan` reads (schema lowtide.plan/1).

Only the stages and the modes are read back: steps, places and figures follow from them. So a plan can
be edited by hand, and is checked like any other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lowtide.errors import UsageError
from lowtide.ir import Graph, Model
from lowtide.ir.state import state_order
from lowtide.lower.nodes import NORMAL
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice, Fused, Limit

SCHEMA = "lowtide.plan/1"


def model_digest(model: Model) -> str:
    """SHA-256 of the model's file."""
    return hashlib.sha256(model.source).hexdigest()


def graph_digest(graph: Graph) -> str:
    """SHA-256 of the operators, which stages name by number. How many channels they have may differ: the
    count that is best depends on the core."""
    told = [(op.type, op.outputs) for op in graph.ops]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def check_graph(graph: Graph, digest: str | None) -> None:
    """Raises UsageError if a plan is for a graph of another digest; None is any graph."""
    if digest is not None and graph_digest(graph) != digest:
        raise UsageError(
            "the plan is for another graph of this model, which another version simplified, or for "
            "another part of it",
            "plan the model again with `lowtide plan MODEL -o FILE`",
        )


Modes = Callable[[Mapping[str, Any]], dict[str, Any]]
"""What reads the options that stand in a plan's document (`lowtide.commands.options.from_plan`). Raises
KeyError or ValueError if they are damaged."""


def read_plan(path: Path, model: Model, modes: Modes) -> dict[str, Any]:
    """What a plan file says, as fields of `lowtide.commands.options.Options`: stages, and its `modes`.

    Raises UsageError if it cannot be read, or is for another model.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the plan {path} cannot be read: {error}",
            "write one with `lowtide plan MODEL -o FILE`",
        ) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} is not a plan of schema {SCHEMA}",
            "write one with `lowtide plan MODEL -o FILE`",
        )
    if document.get("sha256", model_digest(model)) != model_digest(model):
        raise UsageError(
            f"the plan {path} is for another model ({document.get('model')})",
            "plan this one with `lowtide plan MODEL -o FILE`",
        )
    try:
        stages = tuple(
            Choice(
                tuple(map(_whole, stage["operators"])),
                _width(stage.get("strip_width")),
                tuple(
                    Fused(tuple(map(_whole, block["operators"])), _whole(block["kept_rows"]))
                    for block in stage.get("blocks", ())
                ),
                tuple(sorted(map(_limit, stage.get("scratch", ())), key=lambda limit: limit.place)),
                _go(stage.get("rows_in_a_go", 1), stage.get("strip_width")),
            )
            for stage in document["stages"]
        )
        fields = {
            "stages": stages,
            **modes(document),
            "stages_of": _digest(document.get("graph_sha256")),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"the plan {path} is damaged: {error!r}",
            "write it again with `lowtide plan MODEL -o FILE`",
        ) from None
    return fields


def _whole(value: object, what: str = "operator's number") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no {what}")
    return value


def _limit(value: object) -> Limit:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is no limit of scratch memory")
    step = _whole(value.get("from_step", 0), "number of a step")
    most = value["at_most_bytes"]
    amount = NORMAL if most is None else _whole(most, "amount of bytes")
    return Limit(_whole(value["operator"]), amount, step)


def _width(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{value!r} is no width")
    return value


def _go(value: object, strip_width: object) -> int:
    found = _whole(value, "number of rows")
    if not found:
        raise ValueError("0 is no number of rows")
    if found > 1 and strip_width is not None:
        raise ValueError("a stage in strips makes one row in a go")
    return found


def _digest(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{value!r} is no digest")
    return value


def stage_order(graph: Graph, stages: Sequence[Choice]) -> tuple[int, ...]:
    """The order of all operators when those of `stages` come as listed, others once they can.

    Raises UsageError if an operator is unknown, listed twice, or comes before one that it needs.
    """
    listed = [op for stage in stages for op in stage.operators]
    wrong = [op for op in listed if op >= len(graph.ops)]
    if wrong or len(set(listed)) != len(listed):
        twice = next((op for op in listed if listed.count(op) > 1), -1)
        raise UsageError(
            f"the plan names operator {wrong[0]}, which the network lacks"
            if wrong
            else f"the plan names operator {twice} twice",
            "write the plan again with `lowtide plan MODEL -o FILE`",
        )
    made = {t: op.id for op in graph.ops for t in op.outputs}
    others = [op.id for op in graph.ops if op.id not in set(listed)]
    order: list[int] = []
    done: set[int] = set()
    before = state_order(graph)

    def ready(number: int) -> bool:
        needs = {made.get(t, -1) for t in graph.ops[number].inputs if t >= 0} | before[number]
        return all(n < 0 or n in done for n in needs)

    for number in [*listed, -1]:
        while (other := next((o for o in others if ready(o)), None)) is not None:
            others.remove(other)
            order.append(other)
            done.add(other)
        if number < 0:
            break
        if not ready(number):
            raise UsageError(
                f"in the plan, operator {number} runs before one that it needs",
                "list operators after those whose results they read",
            )
        order.append(number)
        done.add(number)
    return tuple(order)


def with_views(ready: Prepared, stages: Sequence[Choice]) -> tuple[Choice, ...]:
    """The stages without operators that need no code; every other one must be in some stage.

    Raises UsageError if one is missing, or is somewhere where it cannot be.
    """
    needed = {g.operator for g in ready.groups if g.operator >= 0}
    missing = sorted(needed - {op for stage in stages for op in stage.operators})
    if missing:
        raise UsageError(
            f"operator {missing[0]} is in no stage of the plan",
            "write the plan again with `lowtide plan MODEL -o FILE`",
        )
    alone = {g.operator for g in ready.groups if {*range(g.first, g.last)} & ready.table.alone}
    for stage in stages:
        if beside := {of.operator for of in stage.limits}.difference(stage.operators):
            raise UsageError(
                f"the scratch memory of operator {min(beside)} is limited in a stage, but it is not "
                "in the stage",
                "list it among the stage's operators",
            )
        if needed.intersection(stage.operators) not in _units(stage) and alone & {*stage.operators}:
            raise UsageError(
                f"operator {min(alone.intersection(stage.operators))} uses a variable, and can only be "
                "a stage of its own, or in a block that is one",
                "write the plan again with `lowtide plan MODEL -o FILE`",
            )
    kept = (
        replace(stage, operators=tuple(op for op in stage.operators if op in needed))
        for stage in stages
    )
    return tuple(choice for choice in kept if choice.operators or choice.blocks)


def _units(stage: Choice) -> list[set[int]]:
    """What is one operator when the program runs: each operator of a stage, and each of its blocks."""
    return [*({op} for op in stage.operators), *({*block.operators} for block in stage.blocks)]
