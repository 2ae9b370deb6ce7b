"""The interpreter stops for a row in the middle of turns and loops, and goes on where it stopped.

Why made-up programs: networks rarely nest loops four deep, and rarely end three of them at once. Here
every node is a row that is given or taken, so that the calls which come are the program itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

from programs import Sample, c_arena, run_main, samples_of
from streams import BOTH_USED, CALLER, c_data, c_run

from assembled import assemble
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.emit.bundle import bundle
from lowtide.ir import DType, Graph, Quant, Tensor
from lowtide.program.assemble import Assembly
from lowtide.program.tables import ExchangeEntry
from lowtide.program.turns import MAX_DEPTH, Loop, Turn, expand, turns_of
from lowtide.tflite.read import parse
from lowtide.zoo.quantise import Activation
from random_nets import Maker

STREAMED = Options(input_mode="streamed", output_mode="streamed")
_ROWS = 4000
_TAKES = 3


def _random(rng: Random, depth: int) -> list[int]:
    """Repetitions within repetitions."""
    parts: list[int] = []
    for _ in range(rng.randint(1, 3)):
        if depth and rng.random() < 0.6:
            parts += _random(rng, depth - 1) * rng.randint(1, 4)
        else:
            parts += [rng.randint(0, _TAKES)] * rng.randint(1, 3)
    return parts


def _deep() -> list[int]:
    """Loops as deep as they nest, that begin and end together."""
    sequence = [0, 1]
    for node in range(MAX_DEPTH):
        sequence = [*sequence * 3, node % (_TAKES + 1)] if node % 2 else sequence * 3 + [0]
    return sequence * 2


SEQUENCES = [
    [0],
    [0] * 9,
    [1, 0, 2],
    [0, 1] * 40,
    [0, *[1, 2] * 3, 3] * 4 + [0],
    [0, *[1, 0] * 3] * 4,
    [*([0, 0, 1] * 2 + [2]) * 5, 3, 3],
    _deep(),
    *(_random(Random(seed), 4) for seed in range(16)),
]


@cache
def _echo() -> Assembly:
    """Its output is its input, three times over: one node that gives, then three that take."""
    tensor = Tensor(0, "echo", (1, _ROWS, 1, 4), DType.INT8, Quant((0.5,), (0,), 0))
    graph = Graph("echo", (tensor,), (), (0,), (0,) * _TAKES)
    program = assemble(graph, (), schedule="rows", input_mode="streamed", output_mode="streamed")
    exchanges = [e.exchange for e in program.nodes if isinstance(e, ExchangeEntry)]
    assert len(exchanges) == len(program.nodes)
    assert [(e.given, e.number) for e in exchanges] == [
        *((True, 0), (False, 0), (False, 1), (False, 2))
    ]
    return program


def _program(name: str, sequence: Sequence[int]) -> Compiled:
    """Rows given (0) and taken (1 to 3) in this order."""
    done = dict.fromkeys(range(_TAKES + 1), 0)
    steps = []
    for node in sequence:
        steps.append((node, done[node]))
        done[node] += 1
    assert max(done.values()) < _ROWS
    assembly = replace(_echo(), turns=turns_of(steps))
    assert expand(assembly.turns) == list(sequence)
    any_program = compile_model(parse(_strided()), STREAMED)
    return replace(any_program, name=name, assembly=assembly, files=bundle(assembly, name))


def _depth(turns: Sequence[Turn | Loop]) -> int:
    return max((1 + _depth(t.body) for t in turns if isinstance(t, Loop)), default=0)


def test_stops_in_the_middle_of_loops(tmp_path: Path) -> None:
    """By itself, and with each row pushed alone."""
    programs = [_program(f"p{i}", sequence) for i, sequence in enumerate(SEQUENCES)]
    assert {_depth(p.assembly.turns) for p in programs} == set(range(MAX_DEPTH + 1))
    declarations = f"""
static char log_[100000];
static int logged, next_[{_TAKES + 1}];
static int note(int node, int row)
{{
    log_[logged++] = (char)('0' + node);
    return row == next_[node]++ ? LT_OK : 1;
}}
static int pull(void *context, int input, int row, void *to)
{{
    (void)context; (void)to;
    return input == 0 ? note(0, row) : 1;
}}
static int take(void *context, int output, int row, const void *from)
{{
    (void)context; (void)from;
    return note(1 + output, row);
}}
static void begin(void)
{{
    logged = 0;
    memset(log_, 0, sizeof log_);
    memset(next_, 0, sizeof next_);
}}
"""
    body = ""
    for program, sequence in zip(programs, SEQUENCES, strict=True):
        name, given = program.name, sequence.count(0)
        declarations += c_arena(f"{name}_arena", name)
        body += f"""
    {{
        static {name}_t m;
        static const char row[{name.upper()}_INPUT_0_ROW_BYTES];
        CHECK({name}_init(&m, {name}_arena, sizeof {name}_arena) == LT_OK);
        CHECK({name}_set_pull(&m, pull, NULL) == LT_OK);
        CHECK({name}_set_take(&m, take, NULL) == LT_OK);
        begin();
        CHECK({name}_invoke(&m) == LT_OK);
        puts(log_);
        begin();
        for (int i = 0; i < {given}; i++) {{
            CHECK({name}_push_rows(&m, row, 1) == LT_OK);
        }}
        CHECK({name}_rows_wanted(&m) == 0);
        puts(log_);
    }}
"""
    printed = run_main(tmp_path, programs, body, declarations).split("\n")
    for i, sequence in enumerate(SEQUENCES):
        text = "".join(map(str, sequence))
        assert printed[2 * i] == text
        if 0 in sequence:
            assert printed[2 * i + 1] == text.replace("0", "")  # pushed rows are not asked for


@cache
def _strided() -> bytes:
    """Each row out is made of two, those of two again, and those of two rows in."""
    net = Maker("strided")
    x = net.input((1, 64, 4, 2))
    for name in ("first", "second", "third"):
        x = net.conv(x, name, 2, (2, 1), (2, 1), Activation.RELU6, same=False)
    return net.finish(x)


def _in_loops(turns: Sequence[Turn | Loop], nodes: set[int], depth: int = 0) -> int:
    """The deepest loop with a turn of one of `nodes` in it."""
    found = [depth * (t.node in nodes) for t in turns if isinstance(t, Turn)]
    found += [_in_loops(t.body, nodes, depth + 1) for t in turns if isinstance(t, Loop)]
    return max(found, default=0)


def test_kernels_run_between_the_stops(tmp_path: Path) -> None:
    """A network with rows given within a loop within a loop."""
    program = compile_model(parse(_strided(), path="net"), STREAMED)
    exchanges = {i for i, e in enumerate(program.assembly.nodes) if isinstance(e, ExchangeEntry)}
    assert _in_loops(program.assembly.turns, exchanges) >= 2
    found: Sequence[Sample] = samples_of(program.model)
    declarations, body = c_run(program, "data", found)
    run_main(tmp_path, [program], BOTH_USED + body, CALLER + c_data("data", found) + declarations)
