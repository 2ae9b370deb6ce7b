"""What plans cost in instructions: the search's figures against those of assembled programs.

Why: the search prices a strip by its columns alone, and never sees the nodes that the program runs.
"""

from __future__ import annotations

import pytest
from staged_nets import known
from strip_nets import BLOCKS, all_edges, around, hurry, ready, sampled, singles
from strip_nets import space_of as stages_of

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import InfeasibleError, UsageError
from lowtide.ir.macs import op_macs
from lowtide.ir.window import Axis
from lowtide.lower.counts import Windows, padded_taps
from lowtide.lower.families.conv import Conv
from lowtide.machines.board import find_target
from lowtide.plans.cost import CostModel, Linear, features, load_model, priced_cores
from lowtide.plans.planner import fastest, front, plans_of, within_cost, within_ram
from lowtide.plans.search import ladder
from lowtide.plans.space import Space, Stages
from lowtide.rows.scheduled import scheduled
from networks import loaded

CORES = ("cortex-m4", "rv32imac")
NETWORKS = sampled([*range(18), *(BLOCKS + n for n in (0, 2, 10, 30))])


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def in_macs(seed: int) -> Space:
    """The stages of a small network without blocks, which cost their MACs."""
    of = ready(seed, small=True)
    space = Space(len(of.groups))
    space.add(Stages(of.graph, of.table, of.groups, strips=True, lowered=of.lowered))
    return space


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", NETWORKS)
def test_the_search_prices_what_the_program_runs(seed: int, core: str) -> None:
    """In all forms, but for what blocks in strips have in the padding, which the search does not see."""
    for stage in known(seed, prices=core).all:
        predicted = stage.predicted[1]
        if stage.priced:
            assert predicted == stage.cost, stage.choice
        else:
            assert stage.cost <= predicted <= 1.3 * stage.cost, stage.choice
    assert any(stage.priced for stage in known(seed, prices=core).all)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", NETWORKS)
def test_linear_costs_are_those_of_all_features(seed: int, core: str) -> None:
    model = load_model(core)
    of = known(seed).of
    for stage in known(seed).all:
        for node, _ in scheduled(of, around(of, stage.edge)).executed:
            exact = model.of(node.kernel, features(node))
            assert node.work is not None
            columns = node.work.columns
            # Each of four coefficients is rounded to a whole number.
            assert abs(model.node(node) - exact) <= 8 + 8 * columns, node.kernel


@pytest.mark.parametrize("seed", NETWORKS)
def test_without_prices_cost_is_macs(seed: int) -> None:
    """And kernels have one form."""
    found = in_macs(seed)
    for edge in all_edges(found):
        assert edge.cost == edge.macs
        assert not edge.formed()
    for path in ladder(found):
        assert path.cost == path.macs == sum(edge.macs for edge in path.edges)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", NETWORKS)
def test_each_strip_and_each_column_costs_something(seed: int, core: str) -> None:
    of, model = ready(seed, small=True), load_model(core)
    prices = model.prices(node for lowered in of.lowered.values() for node in lowered.nodes)
    for price in prices.values():
        needs, costs = ([f.scratch for f in price.forms], [f.whole for f in price.forms])
        assert needs == sorted(set(needs))
        assert costs == sorted(set(costs), reverse=True)
        assert price.whole == costs[-1]
        for linear in (node for form in price.forms for node in form.nodes):
            if not isinstance(linear, Linear):  # of a block, whose pieces are of any width
                assert all(linear.at(columns) > 0 for columns in range(1, 30))
                continue
            assert linear.per_strip >= 0
            assert linear.per_column >= 0
            costs = [linear.at(columns, 0, 1 << 16) for columns in range(1, 30, 2)]
            assert costs == sorted(costs)
    for edge in all_edges(stages_of(of, model=model)):
        macs = sum(op_macs(of.wide, of.wide.ops[op]) for op in edge.operators)
        # Strips skip columns that nobody reads, and suit blocks better or worse.
        if edge.width is not None and edge.macs >= macs and not edge.blocks:
            whole = sum(prices[op].whole for op in edge.operators if op in prices)
            assert edge.cost > whole


def test_columns_that_are_padding() -> None:
    for stride in (1, 2, 3):
        for dilation in (1, 2):
            for kernel in (1, 2, 3, 5):
                for first in range(-4, 2):
                    for columns in range(1, 7):
                        reads = [
                            first + x * stride + k * dilation
                            for x in range(columns)
                            for k in range(kernel)
                        ]
                        lie = sum(not 0 <= at < 6 for at in reads)
                        axis = Axis(kernel, stride, dilation)
                        assert padded_taps(columns, first, 6, axis) == lie


def test_macs_pay_nothing_per_strip() -> None:
    """The same sum as a linear cost: nothing per strip, and a column's MACs per column."""
    of = ready(0, small=True)
    for edge in all_edges(in_macs(0)):
        if edge.width is None:
            assert edge.cost == sum(op_macs(of.wide, of.wide.ops[op]) for op in edge.operators)
    assert Linear(0, 7).at(5, -1, 3) == 35


@pytest.mark.parametrize("core", CORES)
def test_limits_are_those_of_predicted_instructions(core: str) -> None:
    of = ready(2, small=True)
    model = load_model(core)
    plans = plans_of(of, strips=True, model=model)
    points = front(plans)
    own = sum(price.whole for price in model.prices(of.nodes).values())
    assert [p.cost for p in points] == sorted(p.cost for p in points)
    for point in points:
        found = within_cost(plans, (point.cost + 0.5) / own, "instructions")
        assert (found.arena_bytes, found.cost) <= (point.arena_bytes, point.cost)
        assert within_ram(plans, point.arena_bytes).cost <= point.cost
    with pytest.raises(InfeasibleError, match="times its predicted instructions"):
        within_cost(plans, 0.5, "instructions")


def test_a_program_of_operators_is_priced_too() -> None:
    model = loaded("resnet8")
    rows = compile_model(model, Options())
    whole = compile_model(model, Options(schedule="operators"))
    model_of = load_model("cortex-m4")
    kernels = [model_of.program(each.assembly.executed) for each in (rows, whole)]
    # Kernels may have forms that are quicker than their normal ones.
    assert 0.99 <= kernels[0] / kernels[1] <= 1
    # The step program takes longer to go from node to node and back than to go through each once.
    assert whole.instructions_predicted == kernels[1]
    assert 1 < rows.instructions_predicted / kernels[0] < 1.01


def test_kernels_without_a_price_of_their_own() -> None:
    model = load_model("cortex-m4")
    other = CostModel("none", "none", 0.0, {"other": {"step": 2.0}})
    assert other.of("lt_unheard_of", {"step": 3, "written": 5}) == 6
    assert model.of("lt_unheard_of", {"step": 3}) > 0


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("taps", [1, 9])
def test_what_the_kernel_of_heavy_weights_does(taps: int, groups: int) -> None:
    """Four filters at a time, whole fours of products and the rest: together all products."""
    for filters, depth in ((4, 3), (8, 4), (12, 44), (64, 130)):
        work = _dots(5, 7, taps, groups * depth, groups * filters, groups)
        assert work.features(0, 0) == dict.fromkeys(work.features(7, 0), 0)
        done = work.features(7, 0)
        assert 4 * (4 * done["products"] + done["rests"]) == 35 * groups * filters * taps * depth
        copied = sum(count for name, count in done.items() if name.endswith("_bytes"))
        assert copied == (35 * taps * groups * depth if taps > 1 else 0)
        assert done["fours"] == 35 * groups * filters // 4
    for filters, computed in (
        (1, 4),
        (3, 4),
        (5, 8),
        (7, 8),
    ):  # some of them twice, or for nothing
        work = _dots(5, 7, taps, groups * 8, groups * filters, groups)
        assert 16 * work.features(7, 0)["products"] == 35 * groups * computed * taps * 8


def _dots(rows: int, columns: int, taps: int, in_c: int, out_c: int, groups: int) -> Conv:
    """Of windows of one row."""
    sizes = (1, columns, in_c, columns, out_c, groups)
    return Conv(Windows(rows, rows, 0, Axis(taps), *sizes, clamps=False))


def test_heavy_weights_have_a_price_of_their_own() -> None:
    """On every core; on a Cortex-M4 this layer ran at 1.56 instructions a product, padding included."""
    assert all("lt_conv_s8_row" in load_model(core).kernels for core in priced_cores())
    work = Conv(Windows(2, 4, 2, Axis(3, 1, 1, 1), 3, 8, 128, 8, 256, 1, clamps=False))
    done = work.features(8, 2)
    assert load_model("cortex-m4").of("lt_conv_s8_row", done) == pytest.approx(
        1.56 * 2 * 8 * 9 * 128 * 256, rel=0.1
    )


def test_an_unknown_core() -> None:
    with pytest.raises(UsageError) as error:
        find_target("z80")
    assert error.value.cause == "there is no core 'z80'"
    assert error.value.remedy == (
        "use one of: any, cortex-m0, cortex-m3, cortex-m4, cortex-m7, "
        "cortex-m33, cortex-m55, rv32imc, rv32imac"
    )
    for core in ("any", "cortex-m0", "cortex-m55"):
        target = find_target(core)
        assert Options(target=target).predictor.core == target.priced_as


def test_the_error_of_the_stored_models_is_known() -> None:
    for core in priced_cores():
        assert 0 < load_model(core).worst_error <= 0.05


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", NETWORKS)
def test_what_a_network_costs_layer_by_layer(seed: int, core: str) -> None:
    """That is the plan of a stage for each operator, in quickest forms. The quickest costs no more."""
    of, model = ready(seed, small=True), load_model(core)
    plans = plans_of(of, strips=False, model=model)
    alone = scheduled(of, singles(of, 0, len(of.groups)))
    quickest = model.prices(node for lowered in of.lowered.values() for node in lowered.nodes)
    kernels = sum(quickest[op.id].whole for op in of.graph.ops if op.id in quickest)
    assert plans.own("instructions") == kernels + model.between(alone.between)
    assert fastest(plans).cost <= plans.own("instructions")
