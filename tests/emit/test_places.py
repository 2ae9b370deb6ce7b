"""The places of rows come back from codes and lists, in lt_walk.h's eyes too.

Why: a wrong code is a row at the place of another. Rows by the hundred that all lie apart, more than a
code can tell, are in few networks, so that nothing else would try them.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lowtide.emit.places import Places, Run, Runs
from lowtide.emit.runtime import kernel_files
from lowtide.machines.finding import find_compiler

runs = st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=12).map(tuple), max_size=12)


def far() -> list[Run]:
    """Runs of as many places as codes can tell, and of more, in few rows and in many."""
    rng = random.Random(1)
    some = [tuple(rng.sample(range(1 << 16), count)) for count in (200, 255, 256, 257, 600)]
    return [*some, tuple(rng.choices(some[0], k=700)), some[0][:20]]


def decoded(made: Places, run: Run) -> Run:
    """As lt_walk.h reads them."""
    of = made.of[run]
    codes, places = of.pitch & 0xFFFF, of.pitch >> 16
    return tuple(
        made.places[places + (row & ~255 if of.far else 0) + made.codes[codes + row]]
        for row in range(len(run))
    )


@given(runs)
def test_runs_are_in_the_array(given_: list[Run]) -> None:
    made = Runs(given_)
    for run in given_:
        assert tuple(made.values[made.start[run] :][: len(run)]) == run
    assert len(made.values) <= sum(map(len, set(given_)))


def test_a_part_of_a_run_is_there_once() -> None:
    assert Runs([(2, 3), (-1, 2, 3, 4), (4, 5)]).values == [-1, 2, 3, 4, 5]


@given(runs)
def test_places_come_back(given_: list[Run]) -> None:
    made = Places(given_)
    assert all(decoded(made, run) == run for run in given_)
    assert sorted(made.places) == sorted({place for run in given_ for place in run})


def test_more_places_than_codes() -> None:
    made = Places(far())
    assert all(0 <= code < 256 for code in made.codes)
    assert [decoded(made, run) == run for run in far()] == [True] * len(far())
    assert {len(run) for run in far() if made.of[run].far} == {257, 600}


def test_the_runtime_reads_them(tmp_path: Path) -> None:
    """place and window of lt_walk.h, for every row of every run."""
    given_, made = far(), Places(far())

    def array(ctype: str, name: str, values: list[int]) -> str:
        return f"static const {ctype} {name}[] = {{{', '.join(map(str, values))}}};"

    checks = []
    for number, run in enumerate(given_):
        of = made.of[run]
        checks += [
            array("uint16_t", f"run{number}", list(run)),
            f"static const lt_rows rows{number} = "
            f"{{4, {of.pitch}U, {len(run)}, 0, {3 if of.far else 1}}};",
        ]
    text = "\n".join(
        [
            '#include "lt_walk.h"',
            "#include <stdio.h>",
            array("uint16_t", "places", made.places),
            array("uint8_t", "codes", made.codes),
            *checks,
            "static uint8_t memory[(65536 * 4) + 8];",
            "static int check(const lt_rows *rows, const uint16_t *run)",
            "{",
            "    static const lt_turn turns[1];",
            "    lt_program program = {.rows = rows, .places = places, .codes = codes};",
            "    uint8_t *const bases[] = {memory};",
            "    const lt_port port = {0, 0, 1, LT_NONE, 1, 1};",
            "    void *found;",
            "    program.place_shift = 2;",
            "    (void)turns; (void)run_step; (void)advance; (void)enter; (void)exchange;",
            "    (void)begin_strip; (void)bases_of; (void)next_of;",
            "    for (uint16_t row = 0; row < rows->count; row++) {",
            "        uint8_t *wanted = memory + 4 + ((size_t)run[row] << 2);",
            "        (void)window(&program, &port, bases, row, &found);",
            "        if (found != wanted || place(&program, rows, bases, row) != wanted) { return 1; }",
            "    }",
            "    (void)window(&program, &port, bases, rows->count, &found);",
            "    return found != NULL;",
            "}",
            "int main(void)",
            "{",
            f"    return {' || '.join(f'check(&rows{n}, run{n})' for n in range(len(given_)))};",
            "}",
        ]
    )
    for name, content in kernel_files().items():
        if name in ("lowtide.h", "lt_walk.h"):
            (tmp_path / name).write_text(content, "utf-8")
    (tmp_path / "main.c").write_text(text, "utf-8")
    program = tmp_path / "main"
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    command = [*find_compiler("host"), "-std=c99", *sanitizers, "-o", str(program), "main.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert subprocess.run([str(program)], check=False).returncode == 0
