"""Programs whose rows are interleaved compute what TensorFlow Lite Micro computes, in every tensor.

Why whole networks under sanitizers: table, stages, placement, loops and kernels have to be right
together, and a row that is overwritten too early shows only in the bytes of some later tensor. The
zoo's are in tests/end_to_end.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from lowtide.zoo.attention import attention_block
from lowtide.zoo.quantise import Activation
from networks import compiled, model_of, present
from random_nets import Maker

ROWS = Options(schedule="rows")
CONST = replace(ROWS, input_mode="const")
PRESERVED = replace(ROWS, preserve_input=True)
SEEDS = 12


def check(program: Compiled, samples: int = 2) -> None:
    result = checking.verify(program, samples=samples)
    assert result.mismatch is None
    assert result.engine == "tflm"
    plan = program.assembly.plan
    assert plan is not None
    assert program.arena_bytes >= program.assembly.placement.lower_bound_bytes
    assert program.arena_bytes >= plan.peak_bytes


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_networks(seed: int) -> None:
    check(compiled(seed, ROWS))


@pytest.mark.parametrize("seed", range(0, SEEDS, 4))
def test_random_networks_with_the_input_elsewhere(seed: int) -> None:
    program = compiled(seed, CONST)
    check(program)
    assert program.arena_bytes <= compiled(seed, PRESERVED).arena_bytes


@pytest.mark.parametrize("seed", range(2, SEEDS, 4))
def test_random_networks_that_preserve_the_input(seed: int) -> None:
    program = compiled(seed, PRESERVED)
    check(program)
    inputs = sum(program.graph.tensors[t].bytes for t in program.graph.inputs)
    assert program.arena_bytes > inputs


def test_attention_never_holds_its_scores() -> None:
    """16 tokens, 4 heads: [4, 16, 16] scores would be as large as the 1,024 bytes of the input."""
    check(compile_model(parse(attention_block(16)), replace(ROWS, name="net")))


SMALL = ["figure1", "ds-cnn-kws", "resnet8", "branchy-cell", "mobilenet-v1-0.25-96"]
LARGE = ["mn2-vww5-80-chain", "mobilenet-v2-0.35-144"]


@pytest.mark.parametrize(
    ("network", "rows"),
    [
        *((network, ROWS) for network in (*SMALL, *LARGE)),
        *((network, rows) for network in SMALL for rows in (CONST, PRESERVED)),
    ],
)
def test_rows_need_no_more_than_whole_tensors(network: str, rows: Options) -> None:
    whole = compiled(network, replace(rows, schedule="operators"))
    assert compiled(network, rows).arena_bytes <= whole.arena_bytes


LIMITS = {
    "mlperf_vww_96_int8": 29_500,
    "tflm_person_detect_int8": 13_400,
    "mlperf_kws_int8": 9_400,
    "te_vww": 23_000,
}


@pytest.mark.parametrize("network", present(*LIMITS))
def test_arenas_of_real_models(network: str) -> None:
    options = replace(ROWS, quantized_io=network == "te_vww")
    assert compile_model(model_of(network), options).arena_bytes <= LIMITS[network]


def test_an_arena_of_more_than_256_kib() -> None:
    """Places in tables are 16 bits wide; what they are shifted by must divide every one of them."""
    net = Maker("large")
    x = net.input((1, 300, 300, 3))
    x = net.conv(x, "stem", 4, 3, 2, Activation.RELU6)
    x = net.conv(net.conv(x, "next", 4, 3, 1, Activation.RELU6), "last", 3, 3, 2)
    program = compile_model(parse(net.finish(net.mean(x, "mean"))), replace(ROWS, name="net"))
    assert program.arena_bytes > 1 << 18
    check(program, samples=1)


@pytest.mark.parametrize("align", [4, 16, 64])
def test_the_arena_is_aligned_as_asked(align: int) -> None:
    """The alignment of the arena's start is the user's choice, whatever rows need themselves."""
    program = compiled("figure1", replace(ROWS, align=align))
    header = program.files["figure1.h"].decode()
    assert f"#define FIGURE1_ARENA_ALIGN {align}\n" in header
