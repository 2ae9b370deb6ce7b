"""Channels that are left out change no output, and had the value that was claimed of them.

Whole networks are compared with the reference kernels; small ones with themselves as they were, for
every pair of two bytes that they can be given.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from programs import merged

from built import build_program
from lowtide.commands.checking import verify
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from planted_nets import Planted, planted_network

BATCH = 10
OPTIONS = (
    Options(),
    Options(schedule="operators"),
    Options(input_mode="streamed", output_mode="streamed"),
    Options(input_mode="const", rounding="litert"),
    Options(max_overhead=3.0),
    Options(preserve_input=True, cost="instructions", max_overhead=1.5),
)
"""How networks are compiled, one after the other."""


def _differs(seed: int) -> str:
    """What is wrong with a network, simplified; "" if nothing is."""
    options = OPTIONS[seed % len(OPTIONS)]
    data = planted_network(seed, biased=options.rounding == "litert")
    compiled = compile_model(parse(data, path=f"planted-{seed}.tflite"), options)
    found = verify(compiled, samples=5)
    return "" if found.bit_exact else str(found.mismatch)


@pytest.mark.parametrize("seed", range(10))
def test_planted_networks_are_bit_exact(seed: int) -> None:
    assert _differs(seed) == ""


@pytest.mark.soak
@pytest.mark.parametrize("first", range(20_000, 20_500, BATCH))
def test_many_planted_networks_are_bit_exact(first: int) -> None:
    seeds = range(first, first + BATCH)
    assert {seed: _differs(seed) for seed in seeds} == dict.fromkeys(seeds, "")


_MAIN = r"""
#include <stdio.h>
#include <string.h>
%(includes)s
%(arenas)s
int main(void)
{
    for (int a = -128; a < 128; a++) {
        for (int b = -128; b < 128; b++) {
            %(calls)s
        }
    }
    return 0;
}
"""

_CALLS = r"""
            memcpy({0}_input(&{0}, 0), (signed char[]){{(signed char)a, (signed char)b}}, 2);
            memcpy({1}_input(&{1}, 0), (signed char[]){{(signed char)a, (signed char)b}}, 2);
            {0}_invoke(&{0});
            {1}_invoke(&{1});
            if (memcmp({0}_output(&{0}, 0), {1}_output(&{1}, 0), {2}) != 0) {{
                printf("{0} %d %d\n", a, b);
                return 1;
            }}
"""


def _tiny(seed: int) -> bytes:
    """A network that two bytes are given to."""
    net = Planted(seed, "INT8")
    shape = net.rng.choice(((1, 1, 1, 2), (1, 1, 2, 1), (1, 2, 1, 1)))
    x = net.conv(net.input(shape), keep=True)
    for _ in range(net.rng.randint(2, 4)):
        x = net.grown(x)
    return net.finish(net.dense(x))


def _on_every_pair(seeds: Sequence[int], folder: Path) -> str:
    """What a program prints that runs these networks, as they are and simplified, on all inputs."""
    pairs: list[tuple[Compiled, Compiled]] = []
    for seed in seeds:
        model = parse(_tiny(seed), path=f"tiny-{seed}.tflite")
        pairs.append(
            (
                compile_model(model, Options(simplify=False, name=f"a{seed}")),
                compile_model(model, Options(name=f"b{seed}")),
            )
        )
    both = [program for pair in pairs for program in pair]
    text = _MAIN % {
        "includes": "\n".join(f'#include "{p.name}.h"' for p in both),
        "arenas": "\n".join(
            f"static {p.name}_t {p.name};\nstatic unsigned char {p.name}_arena[{n}_ARENA_SIZE] "
            f"__attribute__((aligned({n}_ARENA_ALIGN)));"
            for p in both
            for n in (p.name.upper(),)
        ),
        "calls": "".join(
            _CALLS.format(a.name, b.name, a.graph.tensors[a.graph.outputs[0]].bytes)
            for a, b in pairs
        ),
    }
    inits = "".join(
        f"    if ({p.name}_init(&{p.name}, {p.name}_arena, sizeof {p.name}_arena)) return 2;\n"
        for p in both
    )
    text = text.replace("int main(void)\n{\n", f"int main(void)\n{{\n{inits}")
    files = {**merged(*both), "main.c": text.encode()}
    program, warnings = build_program(files, folder, ["-O2"])
    assert warnings == ""
    ran = subprocess.run([program], capture_output=True, text=True, check=False, timeout=600)
    return ran.stdout + (f"exit code {ran.returncode}" if ran.returncode else "")


def test_every_pair_of_bytes_gives_the_same(tmp_path: Path) -> None:
    assert _on_every_pair(range(8), tmp_path) == ""


@pytest.mark.soak
@pytest.mark.parametrize("first", range(100, 200, 20))
def test_every_pair_of_bytes_gives_the_same_in_many(first: int, tmp_path: Path) -> None:
    assert _on_every_pair(range(first, first + 20), tmp_path) == ""
