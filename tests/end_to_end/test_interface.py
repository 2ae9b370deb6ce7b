"""The C interface as a user's program sees it: status codes, instances, inputs, several models."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from programs import STRICT, c_arena, c_samples, merged, run_main, write_files

from lowtide.commands.options import Options
from lowtide.machines.finding import find_compiler
from lowtide.machines.objects import compile_objects
from networks import compiled

FIGURE = Options(name="fig")
KWS = Options(name="kws")


def _step(instance: str, prefix: str, sample: str) -> str:
    """Write an input, run, and compare the output."""
    upper = prefix.upper()
    return f"""
    memcpy({prefix}_input(&{instance}, 0), {prefix}_data_in[{sample}], {upper}_INPUT_0_BYTES);
    CHECK({prefix}_invoke(&{instance}) == LT_OK);
    CHECK(memcmp({prefix}_output(&{instance}, 0), {prefix}_data_out[{sample}],
                 {upper}_OUTPUT_0_BYTES) == 0);
"""


def test_every_misuse_has_its_status_code(tmp_path: Path) -> None:
    run_main(
        tmp_path,
        [compiled("figure1", FIGURE)],
        """
    fig_t m;
    memset(&m, 0, sizeof m);
    CHECK(LT_OK == 0);
    CHECK(fig_invoke(NULL) == LT_ERROR_ARGUMENT);
    CHECK(fig_invoke(&m) == LT_ERROR_ARGUMENT); /* before init */
    CHECK(fig_init(NULL, arena, FIG_ARENA_SIZE) == LT_ERROR_ARGUMENT);
    CHECK(fig_init(&m, NULL, FIG_ARENA_SIZE) == LT_ERROR_ARGUMENT);
    CHECK(fig_init(&m, arena, 0) == LT_ERROR_ARENA);
    CHECK(fig_init(&m, arena, FIG_ARENA_SIZE - 1) == LT_ERROR_ARENA);
    CHECK(fig_init(&m, arena + 1, FIG_ARENA_SIZE) == LT_ERROR_ARENA);
    CHECK(fig_init(&m, arena + FIG_ARENA_ALIGN / 2, FIG_ARENA_SIZE) == LT_ERROR_ARENA);
    CHECK(fig_invoke(&m) == LT_ERROR_ARGUMENT); /* no init has succeeded */
    CHECK(fig_init(&m, arena, FIG_ARENA_SIZE) == LT_OK);
    CHECK(fig_init(&m, arena, sizeof arena) == LT_OK); /* more than enough, and once more */
    CHECK(FIG_INPUTS == 1 && FIG_OUTPUTS == 1);
    CHECK(fig_input(&m, -1) == NULL && fig_input(&m, FIG_INPUTS) == NULL);
    CHECK(fig_output(&m, -1) == NULL && fig_output(&m, FIG_OUTPUTS) == NULL);
    CHECK((uint8_t *)fig_input(&m, 0) >= arena);
    CHECK((const uint8_t *)fig_output(&m, 0) + FIG_OUTPUT_0_BYTES <= arena + FIG_ARENA_SIZE);
""",
        "static uint8_t arena[2 * FIG_ARENA_SIZE] __attribute__((aligned(FIG_ARENA_ALIGN)));\n",
    )


def test_null_and_unset_instances_have_no_buffers(tmp_path: Path) -> None:
    run_main(
        tmp_path,
        [compiled("figure1", FIGURE)],
        """
    fig_t m;
    memset(&m, 0, sizeof m);
    CHECK(fig_input(NULL, 0) == NULL && fig_output(NULL, 0) == NULL);
    CHECK(fig_input(&m, 0) == NULL && fig_output(&m, 0) == NULL);
""",
    )


def test_the_arena_is_all_the_memory_that_is_touched(tmp_path: Path) -> None:
    """Bytes before and after the arena keep their values; the sanitizer cannot see these."""
    body = "    fig_t m;\n    memset(memory, 0x5A, sizeof memory);\n"
    body += "    CHECK(fig_init(&m, memory + 64, FIG_ARENA_SIZE) == LT_OK);\n"
    body += "".join(_step("m", "fig", str(i)) for i in range(3))
    body += """
    for (int i = 0; i < 64; i++) {
        CHECK(memory[i] == 0x5A && memory[64 + FIG_ARENA_SIZE + i] == 0x5A);
    }
"""
    memory = "static uint8_t memory[FIG_ARENA_SIZE + 128] __attribute__((aligned(64)));\n"
    program = compiled("figure1", FIGURE)
    run_main(tmp_path, [program], body, memory + c_samples("fig_data", "figure1"))


def test_a_preserved_input_may_be_used_again(tmp_path: Path) -> None:
    body = """
    fig_t m;
    CHECK(fig_init(&m, arena, sizeof arena) == LT_OK);
    for (int i = 0; i < 3; i++) {
        memcpy(fig_input(&m, 0), fig_data_in[i], FIG_INPUT_0_BYTES);
        for (int again = 0; again < 2; again++) {
            CHECK(fig_invoke(&m) == LT_OK);
            CHECK(memcmp(fig_output(&m, 0), fig_data_out[i], FIG_OUTPUT_0_BYTES) == 0);
            CHECK(memcmp(fig_input(&m, 0), fig_data_in[i], FIG_INPUT_0_BYTES) == 0);
        }
    }
"""
    kept = compiled("figure1", Options(name="fig", preserve_input=True))
    data = c_arena("arena", "fig") + c_samples("fig_data", "figure1")
    run_main(tmp_path, [kept], body, data)
    assert kept.arena_bytes > compiled("figure1", FIGURE).arena_bytes
    assert b"An input keeps its contents" in kept.files["README.md"]
    assert b"overwrites the inputs" in compiled("figure1", FIGURE).files["README.md"]


def test_a_const_input_stays_where_it_is(tmp_path: Path) -> None:
    """At an odd address, in memory that must not be written, given anew or left as it was."""
    body = """
    fig_t m;
    memset(&m, 0, sizeof m);
    CHECK(fig_set_input(NULL, 0, fig_data_in_0) == LT_ERROR_ARGUMENT);
    CHECK(fig_init(&m, arena, sizeof arena) == LT_OK);
    CHECK(fig_invoke(&m) == LT_ERROR_ARGUMENT); /* no input yet */
    CHECK(fig_set_input(&m, 0, NULL) == LT_ERROR_ARGUMENT);
    CHECK(fig_set_input(&m, -1, fig_data_in_0) == LT_ERROR_ARGUMENT);
    CHECK(fig_set_input(&m, FIG_INPUTS, fig_data_in_0) == LT_ERROR_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        static uint8_t odd[FIG_INPUT_0_BYTES + 1] __attribute__((aligned(16)));
        CHECK(fig_set_input(&m, 0, fig_data_in[i]) == LT_OK);
        for (int again = 0; again < 2; again++) {
            CHECK(fig_invoke(&m) == LT_OK);
            CHECK(memcmp(fig_output(&m, 0), fig_data_out[i], FIG_OUTPUT_0_BYTES) == 0);
        }
        memcpy(odd + 1, fig_data_in[i], FIG_INPUT_0_BYTES);
        CHECK(fig_set_input(&m, 0, odd + 1) == LT_OK);
        CHECK(fig_invoke(&m) == LT_OK);
        CHECK(memcmp(fig_output(&m, 0), fig_data_out[i], FIG_OUTPUT_0_BYTES) == 0);
        CHECK(memcmp(odd + 1, fig_data_in[i], FIG_INPUT_0_BYTES) == 0);
    }
"""
    program = compiled("figure1", Options(name="fig", input_mode="const"))
    run_main(tmp_path, [program], body, c_arena("arena", "fig") + c_samples("fig_data", "figure1"))
    assert b"fig_set_input" in program.files["README.md"]


def test_two_models_in_one_binary(tmp_path: Path) -> None:
    body = """
    fig_t a;
    kws_t b;
    CHECK(fig_init(&a, fig_arena, sizeof fig_arena) == LT_OK);
    CHECK(kws_init(&b, kws_arena, sizeof kws_arena) == LT_OK);
    memcpy(fig_input(&a, 0), fig_data_in[2], FIG_INPUT_0_BYTES);
    memcpy(kws_input(&b, 0), kws_data_in[2], KWS_INPUT_0_BYTES);
    CHECK(kws_invoke(&b) == LT_OK);
    CHECK(fig_invoke(&a) == LT_OK);
    CHECK(memcmp(fig_output(&a, 0), fig_data_out[2], FIG_OUTPUT_0_BYTES) == 0);
    CHECK(memcmp(kws_output(&b, 0), kws_data_out[2], KWS_OUTPUT_0_BYTES) == 0);
"""
    body += _step("a", "fig", "0") + _step("b", "kws", "1") + _step("a", "fig", "1")
    data = c_arena("fig_arena", "fig") + c_arena("kws_arena", "kws")
    data += c_samples("fig_data", "figure1") + c_samples("kws_data", "ds-cnn-kws")
    run_main(tmp_path, [compiled("figure1", FIGURE), compiled("ds-cnn-kws", KWS)], body, data)


@pytest.mark.parametrize(
    "options",
    [FIGURE, Options(name="fig", schedule="operators", allocator="compacting")],
    ids=["rows", "compacting"],
)
def test_an_instance_may_run_in_the_middle_of_another(options: Options, tmp_path: Path) -> None:
    """After every step of the first, as an interrupt could: the second runs as a whole."""
    declarations = """
static fig_t a, b;
static int nested, steps, wrong;
void lt_trace(int tensor, int row, const void *data, int bytes);
void lt_trace(int tensor, int row, const void *data, int bytes)
{
    (void)tensor; (void)row; (void)data; (void)bytes;
    if (nested) {
        return;
    }
    nested = 1;
    steps++;
    memcpy(fig_input(&b, 0), fig_data_in[1 + steps % 2], FIG_INPUT_0_BYTES);
    wrong += fig_invoke(&b) != LT_OK;
    wrong += memcmp(fig_output(&b, 0), fig_data_out[1 + steps % 2], FIG_OUTPUT_0_BYTES) != 0;
    nested = 0;
}
"""
    body = """
    CHECK(fig_init(&a, arena_a, sizeof arena_a) == LT_OK);
    CHECK(fig_init(&b, arena_b, sizeof arena_b) == LT_OK);
"""
    body += _step("a", "fig", "0") + '    CHECK(wrong == 0 && steps > 20);\n    puts("nested");'
    data = c_arena("arena_a", "fig") + c_arena("arena_b", "fig")
    data += c_samples("fig_data", "figure1") + declarations
    program = compiled("figure1", options)
    assert run_main(tmp_path, [program], body, data, ["-DLT_TRACE"]) == "nested\n"


def test_the_header_is_c_plus_plus_too(tmp_path: Path) -> None:
    programs = [
        compiled("figure1", FIGURE),
        compiled("ds-cnn-kws", Options(name="kws", input_mode="const")),
    ]
    files = merged(*programs)
    write_files(tmp_path, files)
    (tmp_path / "main.cpp").write_text("""
#include "fig.h"
#include "kws.h"
namespace {
alignas(FIG_ARENA_ALIGN) uint8_t fig_arena[FIG_ARENA_SIZE];
alignas(KWS_ARENA_ALIGN) uint8_t kws_arena[KWS_ARENA_SIZE];
fig_t fig;
kws_t kws;
const int kws_shape[] = KWS_INPUT_0_SHAPE;
const float fig_scale = FIG_OUTPUT_0_SCALE;
}
int main()
{
    int bad = fig_init(&fig, fig_arena, sizeof fig_arena);
    bad |= kws_init(&kws, kws_arena, sizeof kws_arena);
    KWS_INPUT_0_TYPE input[KWS_INPUT_0_ELEMENTS] = {KWS_INPUT_0_ZERO_POINT};
    bad |= kws_set_input(&kws, 0, input) | kws_invoke(&kws) | fig_invoke(&fig);
    const auto *out = static_cast<const FIG_OUTPUT_0_TYPE *>(fig_output(&fig, 0));
    const float real = fig_scale * static_cast<float>(out[0] - FIG_OUTPUT_0_ZERO_POINT);
    return bad | (real > 1e9f) | !kws_shape[0];
}
""")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["g++", "-std=c++11", *warnings, "-fsyntax-only", "main.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Names are C names: objects of the one language link with those of the other.
    sources = sorted(name for name in files if name.endswith(".c"))
    objects, said = compile_objects([*find_compiler("host"), *STRICT], sources, tmp_path)
    assert said == ""
    command = ["g++", "-std=c++11", *warnings, "main.cpp", *objects, "-o", "program"]
    for line in (command, ["./program"]):
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
