"""Packages for build systems: complete, buildable by CMake, and what their examples print is right.

Where a build system itself is not at hand, its functions are: a CMake project that defines what the
CMakeLists.txt of Zephyr and ESP-IDF call, and an Arduino.h that prints to the terminal.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from packages import NETWORKS, WHOLE, package

from lowtide.cli.deploy import PACKAGES
from lowtide.emit.exports import KINDS
from lowtide.emit.exports.example import RUNS
from lowtide.emit.footprint import constants
from lowtide.machines.finding import find_compiler
from lowtide.oracle.samples import reference
from networks import compiled, model_of

WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@cache
def _printed(name: str) -> str:
    """What the example must print: the oracle's outputs of the inputs that it makes up."""
    network, options = NETWORKS[name]
    model = model_of(network)
    graph, seed, samples = model.graph, 1, []
    for _ in range(RUNS):
        arrays = {}
        for tensor in graph.inputs:
            made = []
            for _ in range(graph.tensors[tensor].elements):
                seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
                made.append((seed >> 24) - 128)
            arrays[tensor] = np.array(made, np.int8).reshape(graph.tensors[tensor].shape)
        samples.append(arrays)
    wanted = reference(model, samples, list(graph.outputs), fresh=[0]).samples
    rows = options.output_mode == "streamed"
    lines = []
    for number, sample in enumerate(wanted):
        lines.append(f"run {number}")
        for i, tensor in enumerate(graph.outputs):
            values = " ".join(str(v) for v in sample[tensor].ravel())
            lines.append(f"output {i}, row 0: {values}" if rows else f"output {i}: {values}")
    return "\n".join(lines) + "\n"


def test_the_command_line_knows_all_kinds() -> None:
    assert PACKAGES == KINDS


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in NETWORKS for kind in KINDS if kind != "tflm" or name in WHOLE],
)
def test_a_package_has_the_bundle_and_what_its_build_system_reads(name: str, kind: str) -> None:
    files, bundle = package(name, kind).files, compiled(*NETWORKS[name]).files
    assert {f"src/{file}": content for file, content in bundle.items() if file != "README.md"} == {
        file: content
        for file, content in files.items()
        if file.startswith("src/") and file != "src/README.md"
    }
    assert files["LICENSE"] == bundle["LICENSE"]
    example = f"{name}_example"
    assert {
        "arduino": {"library.properties", "keywords.txt", f"examples/{example}/{example}.ino"},
        "zephyr": {
            *("zephyr/module.yml", "Kconfig", "CMakeLists.txt"),
            *(f"samples/{name}/{f}" for f in ("CMakeLists.txt", "prj.conf", "sample.yaml")),
            f"samples/{name}/src/main.c",
        },
        "esp-idf": {
            *("idf_component.yml", "CMakeLists.txt", f"examples/{name}/CMakeLists.txt"),
            *(f"examples/{name}/main/{f}" for f in ("CMakeLists.txt", "idf_component.yml")),
            f"examples/{name}/main/main.c",
        },
        "platformio": {
            *("library.json", f"examples/{example}/platformio.ini"),
            f"examples/{example}/src/main.cpp",
        },
        "cmake": {
            *("CMakeLists.txt", f"{name}Config.cmake", "example/CMakeLists.txt"),
            "example/main.c",
        },
        "cmsis-pack": {f"lowtide.{name}.pdsc", "example/main.c"},
        "tflm": {
            *("CMakeLists.txt", "example/CMakeLists.txt", "example/main.cc"),
            *(f for f in files if f.startswith("tflm/")),
        },
    }[kind] | {"README.md", "LICENSE"} == {f for f in files if not f.startswith("src/")}
    for file, content in files.items():
        assert content.isascii() or "README" in file, file
        if file.endswith((".c", ".ino", ".cpp", ".txt", ".yml", ".yaml", ".conf", ".cmake")):
            licensed = b"SPDX-License-Identifier: Apache-2.0" in content.splitlines()[0]
            assert licensed or file == "keywords.txt", file


@needs_cmake
@pytest.mark.parametrize("name", NETWORKS)
def test_the_cmake_example_prints_what_the_oracle_says(name: str, tmp_path: Path) -> None:
    package(name, "cmake").write(tmp_path / "p")
    all_ways = name == "branchy"
    for compiler in COMPILERS if all_ways else COMPILERS[:1]:
        for kind in ("Debug", "Release") if all_ways else ("Debug",):
            build = tmp_path / f"{compiler}-{kind}"
            given = [f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_BUILD_TYPE={kind}"]
            _run("cmake", "-S", tmp_path / "p", "-B", build, *given, f"-DCMAKE_C_FLAGS={WARNINGS}")
            _run("cmake", "--build", build)
            assert _run(build / "example" / f"{name}_example") == _printed(name)


@needs_cmake
@pytest.mark.parametrize("name", WHOLE)
def test_firmware_for_tflm_prints_what_the_oracle_says(name: str, tmp_path: Path) -> None:
    package(name, "tflm").write(tmp_path / "p")
    flags = [f"-DCMAKE_{kind}_FLAGS={WARNINGS}" for kind in ("C", "CXX")]
    _run("cmake", "-S", tmp_path / "p", "-B", tmp_path / "b", *flags, "-DCMAKE_CXX_STANDARD=11")
    _run("cmake", "--build", tmp_path / "b")
    assert _run(tmp_path / "b" / "example" / f"{name}_example") == _printed(name)


@needs_cmake
def test_a_package_for_tflm_is_a_component_of_esp_idf(tmp_path: Path) -> None:
    """In the stand-in for it, which ESP-IDF is not."""
    package("wake", "tflm").write(tmp_path / "wake")
    shutil.copy(tmp_path / "wake" / "example" / "main.cc", tmp_path)
    lines = [
        "enable_language(CXX)",
        "set(ESP_PLATFORM 1)",
        "add_subdirectory(wake)",
        "add_executable(program main.cc)",
        "target_link_libraries(program idf_component)",
    ]
    assert _project(tmp_path, lines, "program", "") == _printed("wake")


@needs_cmake
def test_installed_packages_are_found_side_by_side(tmp_path: Path) -> None:
    for name in ("branchy", "wake"):
        package(name, "cmake").write(tmp_path / name)
        _run("cmake", "-S", tmp_path / name, "-B", tmp_path / f"b-{name}")
        _run("cmake", "--build", tmp_path / f"b-{name}")
        _run("cmake", "--install", tmp_path / f"b-{name}", "--prefix", tmp_path / "root")
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(branchy 1.0 REQUIRED)
find_package(wake 1.0 REQUIRED)
add_executable(user main.c)
target_link_libraries(user branchy::branchy wake::wake)
""")
    (user / "main.c").write_text("""#include "branchy.h"
#include "wake.h"
static branchy_t a;
static wake_t b;
int main(void) { return branchy_invoke(&a) == LT_OK || wake_invoke(&b) == LT_OK; }
""")
    root = f"-DCMAKE_PREFIX_PATH={tmp_path / 'root'}"
    _run("cmake", "-S", user, "-B", tmp_path / "b-user", root)
    _run("cmake", "--build", tmp_path / "b-user")
    _run(tmp_path / "b-user" / "user")


_BOARD = """
MEMORY { FLASH (rx) : ORIGIN = 0x0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
ENTRY(start)
SECTIONS
{
    .text : { KEEP(*(.vectors)) *(.text*) *(.init) *(.fini) *(.rodata*) *(.ARM.ex*) } > FLASH
    .init_array : { __init_array_start = .; KEEP(*(.init_array*)) __init_array_end = .; } > FLASH
    .fini_array : { __fini_array_start = .; KEEP(*(.fini_array*)) __fini_array_end = .; } > FLASH
    __preinit_array_start = .;
    __preinit_array_end = .;
    .data : { *(.data*) } > RAM
    .bss : { __bss_start__ = .; *(.bss*) *(COMMON) __bss_end__ = .; end = .; __end__ = .; } > RAM
    __stack = 0x20400000;
}
"""
_START = """
#include <stdio.h>
extern char __stack;
int main(void);
int _write(int file, const char *text, int length);

static void host(unsigned operation, const void *argument)
{
    register unsigned r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

int _write(int file, const char *text, int length)
{
    (void)file;
    for (int i = 0; i < length; i++) {
        host(0x03, text + i);
    }
    return length;
}

void start(void)
{
    const int status = main();
    fflush(NULL);
    host(0x18, (const void *)(status == 0 ? 0x20026 : 0x20023));
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {&__stack, start};
"""


@needs_cmake
@pytest.mark.parametrize("name", ["branchy", "kws", "wake"])
def test_the_cmake_example_runs_on_a_cortex_m4(name: str, tmp_path: Path) -> None:
    compiler = find_compiler("arm-none-eabi")[0]
    package(name, "cmake").write(tmp_path / "p")
    (tmp_path / "board.ld").write_text(_BOARD)
    (tmp_path / "start.c").write_text(_START)
    core = "-mcpu=cortex-m4 -mthumb"
    _run(compiler, *core.split(), "-c", "start.c", cwd=tmp_path)
    link = f"--specs=nosys.specs -nostartfiles -Wl,--gc-sections -T {tmp_path}/board.ld"
    link += f" {tmp_path}/start.o"
    _run(
        *("cmake", "-S", tmp_path / "p", "-B", tmp_path / "b", "-DCMAKE_SYSTEM_NAME=Generic"),
        *(f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_C_FLAGS={core} {WARNINGS}",
        *(f"-DCMAKE_EXE_LINKER_FLAGS={link}", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"),
    )
    _run("cmake", "--build", tmp_path / "b")
    emulator = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native,chardev=out", "-serial", "none"]
    semihosting += ["-chardev", "stdio,id=out"]
    program = tmp_path / "b" / "example" / f"{name}_example"
    assert _run(*emulator, *semihosting, "-kernel", program) == _printed(name)


_ARDUINO = """
#pragma once
#include <cstdio>
#include <cstdlib>
struct Printer {
    void begin(long) {}
    void print(const char *text) { std::fputs(text, stdout); }
    void print(long number) { std::printf("%ld", number); }
};
static Printer Serial;
static inline void delay(long) { std::exit(0); }
void setup();
void loop();
"""


@pytest.mark.parametrize("kind", ["arduino", "platformio"])
@pytest.mark.parametrize("name", NETWORKS)
def test_sketches_are_c_plus_plus_and_right(name: str, kind: str, tmp_path: Path) -> None:
    package(name, kind).write(tmp_path)
    (tmp_path / "stand-in").mkdir()
    (tmp_path / "stand-in" / "Arduino.h").write_text(_ARDUINO)
    end = f"{name}_example.ino" if kind == "arduino" else "src/main.cpp"
    sketch = tmp_path / "examples" / f"{name}_example" / end
    (tmp_path / "sketch.cpp").write_text(
        sketch.read_text() + "\nint main() { setup(); loop(); return 1; }\n"
    )
    sources = sorted(str(path) for path in (tmp_path / "src").glob("*.c"))
    _run("gcc", "-std=c99", "-O0", "-c", *sources, cwd=tmp_path)
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-Istand-in", "-Isrc"]
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    _run("g++", *flags, "sketch.cpp", *objects, "-o", "sketch", cwd=tmp_path)
    assert _run(tmp_path / "sketch") == _printed(name)


@pytest.mark.parametrize("name", ["branchy", "wake"])
def test_weights_and_arena_lie_where_they_are_wanted(name: str, tmp_path: Path) -> None:
    """In sections that the user names, and what comes out is the same."""
    package(name, "cmake").write(tmp_path)
    upper = name.upper()
    placed = [f'-D{upper}_WEIGHTS_SECTION=".qspi"', f'-D{upper}_ARENA_SECTION=".dtcm"']
    sources = sorted(str(path) for path in (tmp_path / "src").glob("*.c"))
    flags = ["-std=c99", *WARNINGS.split(), "-Isrc", "example/main.c", *sources, "-o", "program"]

    def sections(*more: str) -> dict[str, int]:
        _run("gcc", *flags, *more, cwd=tmp_path)
        assert _run(tmp_path / "program") == _printed(name)
        told = _run("size", "-A", "program", cwd=tmp_path)
        return {line.split()[0]: int(line.split()[1]) for line in told.splitlines()[2:] if line}

    program = compiled(*NETWORKS[name])
    weights = sum(size for is_weights, size in constants(program.assembly) if is_weights)
    before, after = sections(), sections(*placed)
    assert after[".qspi"] >= weights and after[".dtcm"] == max(1, program.arena_bytes)
    assert before[".rodata"] - after[".rodata"] >= weights
    assert ".qspi" not in before and ".dtcm" not in before


def test_a_linker_script_can_place_the_code_by_its_files(tmp_path: Path) -> None:
    """All of it, what the compiler keeps apart in a file too."""
    package("branchy", "cmake").write(tmp_path)
    sources = sorted(str(path) for path in (tmp_path / "src").glob("*.c"))
    command = [*find_compiler("arm-none-eabi"), "-mcpu=cortex-m4", "-mthumb", "-O2"]
    _run(*command, "-ffunction-sections", "-c", *sources, cwd=tmp_path)
    (tmp_path / "place.ld").write_text(
        "SECTIONS { .itcm : { *lt_*.o(.text .text.*) *lowtide.o(.text .text.*) } "
        ".text : { *(.text*) } }"
    )
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    link = ["-T", "place.ld", "-e", "0", "--unresolved-symbols=ignore-all", "-o", "all.elf"]
    _run("arm-none-eabi-ld", *link, *objects, cwd=tmp_path)
    told = _run("arm-none-eabi-nm", "-f", "sysv", "all.elf", cwd=tmp_path).splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in told if line.count("|") > 5]
    where = {row[0]: row[6] for row in rows if row[3] == "FUNC"}
    assert {place for name, place in where.items() if name.startswith("lt_")} == {".itcm"}
    assert where["branchy_invoke"] == ".text"


# What the CMakeLists.txt of Zephyr modules and ESP-IDF components call, as far as ours do.
_STAND_IN = """cmake_minimum_required(VERSION 3.16)
project(stand_in C)
set(CMAKE_C_FLAGS "-std=c99 -O0")
add_library(zephyr_interface INTERFACE)
macro(zephyr_include_directories dir)
    target_include_directories(zephyr_interface INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${dir})
endmacro()
macro(zephyr_library_named name)
    add_library(${name} STATIC)
    set(ZEPHYR_CURRENT_LIBRARY ${name})
endmacro()
macro(zephyr_library_sources)
    target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_options)
    target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
function(idf_component_register)
    cmake_parse_arguments(A "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
    add_library(idf_component STATIC ${A_SRCS})
    target_include_directories(idf_component PUBLIC ${A_INCLUDE_DIRS})
    set(COMPONENT_LIB idf_component PARENT_SCOPE)
endfunction()
set(CONFIG_LOWTIDE_WAKE y)
"""


def _project(folder: Path, lines: Sequence[str], program: str, main: str) -> str:
    """Build and run a CMake project with the stand-ins; what `program` prints."""
    (folder / "main.c").write_text(main)
    (folder / "CMakeLists.txt").write_text(_STAND_IN + "\n".join(lines))
    _run("cmake", "-S", folder, "-B", folder / "b")
    _run("cmake", "--build", folder / "b")
    return _run(folder / "b" / program)


@needs_cmake
@pytest.mark.parametrize("whole", [False, True])
def test_two_networks_from_two_kinds_of_package_in_one_program(whole: bool, tmp_path: Path) -> None:
    """Zephyr links its libraries with --whole-archive."""
    package("wake", "zephyr").write(tmp_path / "wake")
    package("branchy", "esp-idf").write(tmp_path / "branchy")
    mains = []
    for name, file in (
        ("wake", "samples/wake/src/main.c"),
        ("branchy", "examples/branchy/main/main.c"),
    ):
        text = (tmp_path / name / file).read_text()
        text = re.sub(r"#include <zephyr/.*>\n", "", text.replace("printk(", "printf("))
        text = re.sub(
            r"^(int main\(void\)|void app_main.*;\n|void app_main.*)$", "", text, flags=re.M
        )
        begin = text.rindex("\n{\n    (void)example")
        text = (
            text[:begin] + f"\nint {name}(void);\nint {name}(void)\n{{\n    return example();\n}}\n"
        )
        (tmp_path / f"{name}.c").write_text("#include <stdio.h>\n" + text)
        mains.append(f"{name}.c")
    libraries = "lowtide_wake idf_component"
    if whole:
        libraries = f"-Wl,--whole-archive {libraries} -Wl,--no-whole-archive"
    printed = _project(
        tmp_path,
        [
            "add_subdirectory(wake)",
            "add_subdirectory(branchy)",
            f"add_executable(both main.c {' '.join(mains)})",
            f"target_link_libraries(both zephyr_interface {libraries} -Wl,--gc-sections)",
            "target_include_directories(both PRIVATE branchy/src)",
        ],
        "both",
        "int wake(void);\nint branchy(void);\nint main(void) { return wake() || branchy(); }\n",
    )
    assert printed == _printed("wake") + _printed("branchy")
    symbols = _run("nm", tmp_path / "b" / "both")
    assert len(re.findall(r" lt_run$", symbols, re.MULTILINE)) == 1
    made = _run("make", "-n", "-B", "-C", tmp_path / "b", "lowtide_wake", "idf_component")
    compiled_by = [line for line in made.splitlines() if re.search(r" -c .*lowtide\.c$", line)]
    assert len(compiled_by) == 2
    assert all(line.rindex("-O2") > line.rindex("-O0") for line in compiled_by)


@needs_cmake
def test_a_folder_of_a_project_in_c_plus_plus(tmp_path: Path) -> None:
    """Whose targets have no standard of C."""
    package("branchy", "cmake").write(tmp_path / "branchy")
    (tmp_path / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES CXX)
add_subdirectory(branchy)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE branchy::branchy)
""")
    (tmp_path / "main.cpp").write_text("""#include "branchy.h"
static branchy_t net;
int main() { return branchy_invoke(&net) == LT_OK; }
""")
    _run("cmake", "-S", tmp_path, "-B", tmp_path / "b")
    _run("cmake", "--build", tmp_path / "b")
    _run(tmp_path / "b" / "user")
