"""Which form each operator of a plan runs in: by default, what RAM is worth, and never more."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.commands.preparing import prepared
from lowtide.ir import Model
from lowtide.lower.nodes import Node
from lowtide.machines.board import find_target
from lowtide.modes import InputMode
from lowtide.plans.placer import Point
from lowtide.plans.planner import Plans, default, plans_of
from lowtide.plans.worth import RATE, Costs, is_worth
from lowtide.rows.prepare import Prepared
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation
from origins import without_origin

CORES = ("any", "cortex-m4", "cortex-m55", "rv32imac")


@cache
def network(seed: int) -> Model:
    """Convolutions and depthwise ones, of which those at the peak have scratch memory."""
    net = NetBuilder("forms")
    width, channels = (24, 12, 36, 20)[seed % 4], (8, 16, 12, 24)[seed // 2 % 4]
    x = net.conv(net.input((1, 2 * width, 2 * width, 3)), "first", channels, 3, 2)
    for number in range(1 + seed % 3):
        x = net.depthwise(x, f"depthwise {number}", 3, 1 + (seed + number) % 2, Activation.RELU6)
        channels += 8 * (seed % 2)
        x = net.conv(x, f"pointwise {number}", channels, 1)
    return parse(net.finish(net.average_pool(x, "pool")), path=f"forms {seed}")


@cache
def lowered(seed: int, core: str, input_mode: InputMode) -> Prepared:
    options = Options(target=find_target(core), input_mode=input_mode)
    return prepared(network(seed), options)[2]


def plans(of: Prepared) -> Plans:
    return plans_of(of, strips=False)


def costs(one: Plans, point: Point) -> Costs:
    return Costs(point.arena_bytes + one.state, point.cost)


def bare(one: Plans, point: Point) -> Point:
    """The plan with every operator in its normal form."""
    return one.placer.place(tuple(replace(choice, limits=()) for choice in point.choices))


MODES: tuple[InputMode, ...] = ("resident", "streamed", "const")


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", range(8))
def test_the_default_plan_spends_little_to_save_little(seed: int, core: str) -> None:
    """Beside what it is with every operator in its normal form, and the same again."""
    one = plans(lowered(seed, core, MODES[(seed + CORES.index(core)) % len(MODES)]))
    point = default(one)
    assert default(plans(one.ready)).choices == point.choices
    here, there = costs(one, point), costs(one, bare(one, point))
    spent, saved = here.instructions / there.instructions - 1, 1 - here.ram / there.ram
    assert spent <= max(0, RATE * saved)


def test_forms_are_chosen_somewhere() -> None:
    """So that the one before cannot come to say nothing: smaller forms, and larger ones."""
    saved, quicker = 0, 0
    for seed in range(8):
        one = plans(lowered(seed, "cortex-m4", "resident" if seed < 3 else "streamed"))
        point = default(one)
        here, there = costs(one, point), costs(one, bare(one, point))
        saved += here.ram < there.ram
        quicker += here.instructions < there.instructions
    assert saved
    assert quicker


@pytest.mark.parametrize("core", CORES)
def test_forms_need_what_they_say(core: str) -> None:
    """Within any limit the form of the most scratch memory below it, else the least there is."""
    for seed in range(8):
        of = lowered(seed, core, "const")
        for found in of.lowered.values():
            for node in found.nodes:
                sizes = sorted({form.scratch for form in (node, *node.forms)})
                assert node.leaner.scratch == sizes[0]
                for below, size in pairwise([sizes[0], *sizes]):
                    assert node.within(size).scratch == size
                    assert node.within(max(0, size - 1)).scratch == max(below, sizes[0])
                assert all(not form.forms for form in node.forms)


def test_what_is_worth_it() -> None:
    """1 % of RAM for 4 % of the instructions; if smaller forms take more than 5 %, for 1 % of them."""
    than = Costs(10_000, 1_000_000)
    assert is_worth(Costs(9_900, 1_040_000), than, 1_040_000)
    assert not is_worth(Costs(9_900, 1_040_001), than, 1_040_001)
    assert is_worth(Costs(9_000, 1_400_000), than, 1_400_000)
    assert not is_worth(Costs(9_000, 1_400_001), than, 1_400_001)
    assert is_worth(Costs(10_000, 900_000), than, 900_000)
    assert not is_worth(Costs(10_001, 1_000_001), than, 1_000_001)
    assert is_worth(Costs(9_800, 1_050_000), than, 1_000_000)
    assert not is_worth(Costs(9_800, 1_050_001), than, 1_000_000)
    assert is_worth(Costs(9_400, 1_060_000), than, 1_000_000)
    assert not is_worth(Costs(9_401, 1_060_000), than, 1_000_000)
    assert is_worth(Costs(0, 0), Costs(0, 0), 0)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_a_program_in_its_forms_says_what_it_computes(seed: int) -> None:
    """The plan's stages written out are the plan: the same bundle."""
    options = Options(target=find_target("cortex-m4"), input_mode="streamed")
    compiled = compile_model(network(seed), options)
    plan = compiled.assembly.plan
    assert plan is not None
    stages = tuple(stage.choice for stage in plan.stages)
    again = compile_model(network(seed), replace(options, stages=stages))
    assert without_origin(again.files) == without_origin(compiled.files)
    nodes = [node for node, _ in compiled.assembly.executed if isinstance(node, Node)]
    assert nodes
