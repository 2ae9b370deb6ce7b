"""Firmware that was written for TensorFlow Lite Micro, on packages of `--export tflm`: it compiles as it
is, in C++11 with all warnings, runs with sanitizers, and what comes out is what TFLM has.

The firmware here makes the calls of TFLM's own examples and of ESPHome's wake word, in their order.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from programs import samples, samples_of
from test_layouts import turned

from byte_nets import byte_network
from lowtide.commands.compiling import Compiled, compile_model, exported
from lowtide.commands.options import Options
from lowtide.emit.exports.tflm import check_modes
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.machines.board import find_board
from lowtide.machines.emulate import find_emulator
from lowtide.machines.finding import find_compiler
from lowtide.machines.parts import Board
from lowtide.machines.toolchain import WARNINGS
from lowtide.oracle.samples import sample_inputs
from lowtide.target import Target
from lowtide.tflite.read import parse
from networks import compiled, loaded, model_of
from odd_nets import odd_network
from stateful import sequence
from wider_nets import wider_network

FIRMWARE = Path(__file__).parent / "firmware"
_CHECKS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_CXX = ("-std=c++11", *WARNINGS, "-Werror", "-fno-exceptions", "-fno-rtti")


def _package(network: str, options: Options) -> Compiled:
    return exported(compiled(network, options), "tflm")


def _run(command: Sequence[str | Path], cwd: Path, given: bytes = b"") -> bytes:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        input=given,
        capture_output=True,
        check=False,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def _program(
    folder: Path,
    packages: Sequence[Compiled],
    firmware: str,
    given: str = "",
    *flags: str,
    checks: Sequence[str] = _CHECKS,
    compilers: Sequence[str] = ("gcc", "g++"),
    linked: Sequence[str | Path] = (),
) -> Path:
    """Build the firmware of that name, which is `given` constants, with the sources of these packages;
    the interface is that of the first. The linker gets what is to be `linked`, too."""
    gcc, gxx = compilers
    objects = []
    for package in packages:
        top = folder / package.name
        package.write(top)
        found = sorted(f for f in package.files if f.endswith(".c"))
        strict = ["-std=c99", *WARNINGS, "-Werror", *checks, *flags]
        _run([gcc, *strict, "-Isrc", "-Itflm", "-c", *found], top)
        objects += sorted(top.glob("*.o"))
    (folder / "given.h").write_text(given)
    include = ["-I.", *(f"-I{package.name}/tflm" for package in packages)]
    source = FIRMWARE / f"{firmware}.cc"
    made = [source, *objects, *linked, "-o", "program"]
    _run([gxx, *_CXX, *checks, *flags, *include, *made], folder)
    return folder / "program"


def _on_board(
    board: Board, folder: Path, packages: Sequence[Compiled], firmware: str, given: str
) -> str:
    """What the firmware prints on that emulated board with a core of Arm's, linked with newlib."""
    machine = board.machine
    gcc = find_compiler(board.core.toolchain)[0]
    flash = f"{machine.flash.origin:#x}"
    places = {"VECTORS": flash, "CODE": "ALIGN(4)", "RAM": f"{machine.ram.origin:#x}"}
    if machine.vectors is not None:
        places |= {"VECTORS": f"{machine.vectors:#x}", "CODE": flash}
    script = (FIRMWARE / "board.ld").read_text()
    for place, address in places.items():
        script = script.replace(f" {place} ", f" {address} ")
    (folder / "board.ld").write_text(script)
    flags = [*board.flags, board.optimise]
    _run([gcc, *flags, "-c", FIRMWARE / "board.c", "-o", "board.o"], folder)
    program = _program(
        folder,
        packages,
        firmware,
        given,
        checks=flags,
        compilers=(gcc, gcc.replace("gcc", "g++")),
        linked=["board.o", "--specs=rdimon.specs", "-nostartfiles", "-T", "board.ld"],
    )
    semihosting = ["-semihosting-config", "enable=on,target=native", "-icount", "shift=0"]
    quiet = ["-nographic", "-monitor", "none", "-serial", "none"]
    emulator = [find_emulator(board), *machine.args, *semihosting, *quiet]
    return _run([*emulator, "-kernel", program], folder).decode().replace("\r", "")


def _made(seed: str) -> Model:
    kind, _, number = seed.partition(":")
    makers = {"byte": byte_network, "odd": odd_network, "wider": wider_network}
    if kind == "random":
        return model_of(int(number))
    if kind == "float":
        return turned(loaded("figure1"), outputs=True, dtype="float")
    return parse(makers[kind](int(number)), path=seed.replace(":", "-"))


DRAWN = ("random:3", "byte:2", "odd:9", "wider:1", "float:0")


@pytest.mark.parametrize("seed", DRAWN)
def test_every_type_and_many_ends(seed: str, tmp_path: Path) -> None:
    """Several inputs and outputs, of int8, uint8, int16 and others, as TFLM has them."""
    model = _made(seed)
    program = exported(compile_model(model, Options(name="net", effort=0.1)), "tflm")
    wanted = samples_of(model)
    given = b"".join(part for sample in wanted for part in sample.inputs)
    printed = _run([_program(tmp_path, [program], "runner")], tmp_path, given)
    assert printed == b"".join(part for sample in wanted for part in sample.outputs)


def test_the_drawn_networks_have_many_ends() -> None:
    """Which the test before is about."""
    graphs = [_made(seed).graph for seed in DRAWN]
    kinds = {g.tensors[t].dtype.name for g in graphs for t in (*g.inputs, *g.outputs)}
    assert kinds >= {"INT8", "UINT8", "INT16", "FLOAT32"}, kinds
    assert any(len(g.outputs) > 1 for g in graphs) and any(len(g.inputs) > 1 for g in graphs)


def _sequence(network: str, count: int) -> tuple[bytes, bytes]:
    """Inputs, one after the other, and what TFLM makes of them in this order."""
    model = loaded(network)
    given = sample_inputs(model, count)
    inputs = [tuple(sample[t] for t in model.graph.inputs) for sample in given]
    outputs = sequence(model, inputs, (0,))
    raw = b"".join(array.tobytes() for sample in inputs for array in sample)
    return raw, b"".join(part for found in outputs for part in found)


M4 = Target("cortex-m4", ("dsp",), "cortex-m4")


@pytest.mark.parametrize(
    "options",
    [
        Options(slices=True),
        Options(target=M4),
        Options(schedule="operators", allocator="greedy"),
        Options(align=64),
        Options(preserve_input=True),
        Options(simplify=False),
    ],
    ids=["slices", "core", "operators", "align", "preserve", "not-simplified"],
)
@pytest.mark.parametrize("network", ["streaming-wake-word", "audio-front-end", "figure1"])
def test_other_modes(network: str, options: Options, tmp_path: Path) -> None:
    """State over a sequence of runs, too."""
    program = _package(network, replace(options, name="net"))
    given, wanted = _sequence(network, 5)
    assert _run([_program(tmp_path, [program], "runner")], tmp_path, given) == wanted


def _array(name: str, data: bytes) -> str:
    return f"alignas(8) static const uint8_t {name}[] = {{{', '.join(map(str, data))}}};\n"


BOARDS = ("mps2-an386", "mps3-an547")
"""A Cortex-M4, and an M55 with Helium."""


def test_firmware_as_hello_world(tmp_path: Path) -> None:
    """The array has the name that the firmware has for it, and scales make reals of integers."""
    network = "lstm-gestures"
    graph = model_of(network).graph
    output = graph.tensors[graph.outputs[0]]
    assert output.quant is not None
    given, wanted = _sequence(network, 3)
    first = np.frombuffer(wanted, np.int8).reshape(3, -1)[:, 0]
    reals = [(int(q) - output.quant.zero_point[0]) * output.quant.scale[0] for q in first]
    data = (
        "extern const unsigned char g_hello_world_int8_model_data[];\n"
        + _array("kInputs", given)
        + _array("kOutputs", wanted)
        + f"static const float kReal[] = {{{', '.join(f'float({real:.9g})' for real in reals)}}};\n"
    )
    package = _package(network, Options(name="hello"))
    flag = "-DHELLO_MODEL_DATA=g_hello_world_int8_model_data"
    program = _program(tmp_path, [package], "hello_world", data, flag)
    assert _run([program], tmp_path) == b"~~~ALL TESTS PASSED~~~\n\r\n"


def _person_detection(options: Options) -> tuple[list[Compiled], str]:
    """The package, and the constants of its firmware."""
    network = "mobilenet-v1-0.25-96"
    wanted = samples(network)
    data = _array("kImages", b"".join(s.inputs[0] for s in wanted))
    data += _array("kScores", b"".join(s.outputs[0] for s in wanted))
    return [_package(network, replace(options, name="person"))], data


def test_firmware_as_person_detection(tmp_path: Path) -> None:
    packages, data = _person_detection(Options())
    program = _program(tmp_path, packages, "person_detection", data)
    assert _run([program], tmp_path) == b"as the oracle\r\n" * 3


@pytest.mark.parametrize("name", BOARDS)
def test_firmware_as_person_detection_on_a_board(name: str, tmp_path: Path) -> None:
    board = find_board(name)
    packages, data = _person_detection(Options(target=board.target))
    printed = _on_board(board, tmp_path, packages, "person_detection", data)
    assert printed == "as the oracle\n" * 3


def test_firmware_as_micro_speech(tmp_path: Path) -> None:
    """A front end of int16 with state and a network, in turns in one arena, whose last contents each
    finds there."""
    data = ""
    packages = []
    for network, name, taken, made in (
        ("audio-front-end", "front", "kSounds", "kFeatures"),
        ("streaming-wake-word", "words", "kWords", "kScores"),
    ):
        inputs, outputs = _sequence(network, 3)
        data += _array(taken, inputs) + _array(made, outputs)
        packages.append(_package(network, Options(name=name)))
    _run([_program(tmp_path, packages, "micro_speech", data)], tmp_path)


def _wake_word(options: Options) -> tuple[list[Compiled], str]:
    """The packages, and the constants of their firmware."""
    data, packages = "", []
    for network, name in (("streaming-wake-word", "word"), ("streaming-voice-activity", "voice")):
        rows, scores = _sequence(network, 20)
        title = name.capitalize()
        data += _array(f"k{title}Rows", rows) + _array(f"k{title}Scores", scores)
        packages.append(_package(network, replace(options, name=name)))
    return packages, data


def _check_used(packages: Sequence[Compiled], printed: str, more: int) -> None:
    """Each arena is as large as what the network needs, and up to `more` bytes for its instance."""
    used = [[int(word) for word in line.split()] for line in printed.splitlines()]
    assert used[0] == used[1]  # wherever the arenas lie
    for package, size in zip(packages, used[0], strict=True):
        both = package.arena_bytes + package.state_bytes
        assert both < size < both + more


def test_firmware_as_esphomes_wake_word(tmp_path: Path) -> None:
    """Two networks with state, rows gathered in the input, arenas of what was found to be used."""
    packages, data = _wake_word(Options())
    printed = _run([_program(tmp_path, packages, "wake_word", data)], tmp_path).decode()
    _check_used(packages, printed, more=600)  # with this computer's pointers


@pytest.mark.parametrize("name", BOARDS)
def test_firmware_as_esphomes_wake_word_on_a_board(name: str, tmp_path: Path) -> None:
    board = find_board(name)
    packages, data = _wake_word(Options(target=board.target))
    printed = _on_board(board, tmp_path, packages, "wake_word", data)
    _check_used(packages, printed, more=350)


@pytest.mark.parametrize("network", ["streaming-wake-word", "figure1"])
def test_errors_and_arenas_of_all_sizes(network: str, tmp_path: Path) -> None:
    program = _program(tmp_path, [_package(network, Options(name="net"))], "errors")
    printed = _run([program], tmp_path).decode().replace("\r", "")
    assert printed.startswith("no network that lowtide compiled is where the model should be\n")
    assert "there is no input 0 before AllocateTensors()\nthere is no input 1\n" in printed
    last = printed.partition("--\n")[2].splitlines()
    assert last == [
        f"net: the tensor arena has 64 bytes and needs {last[1]}",
        last[1],
        "net: preserve_all_tensors keeps inputs: compile the network with --preserve-input",
    ]


def test_inputs_that_persist(tmp_path: Path) -> None:
    sample = samples("figure1")[0]
    data = _array("kGiven", sample.inputs[0]) + _array("kWanted", sample.outputs[0])
    package = _package("figure1", Options(name="net", preserve_input=True))
    _run([_program(tmp_path, [package], "preserved", data)], tmp_path)


def test_two_networks_share_an_allocator(tmp_path: Path) -> None:
    """The arena is there once, as large as the larger needs it; the state of one stays meanwhile."""
    data, packages = "", []
    for network, name in (("streaming-wake-word", "word"), ("figure1", "figure")):
        given, wanted = _sequence(network, 3)
        title = name.capitalize()
        data += _array(f"k{title}In", given) + _array(f"k{title}Out", wanted)
        packages.append(_package(network, Options(name=name)))
    program = _program(tmp_path, packages, "shared_allocator", data)
    one, both = map(int, _run([program], tmp_path).split())
    more = packages[1].arena_bytes - packages[0].arena_bytes
    assert more < both - one < more + 500


@pytest.mark.parametrize("silent", [False, True])
def test_messages_go_where_the_firmware_wants_them(silent: bool, tmp_path: Path) -> None:
    flags = ["-DTF_LITE_STRIP_ERROR_STRINGS"] * silent
    program = _program(tmp_path, [_package("figure1", Options(name="net"))], "own_log", "", *flags)
    printed = _run([program], tmp_path).decode()
    told = "<no network that lowtide compiled is where the model should be><end><mine %d><end>"
    assert printed == ("" if silent else told)


def test_link_time_optimisation(tmp_path: Path) -> None:
    """In which what is bytes to the firmware is seen to be a network."""
    given, wanted = _sequence("figure1", 2)
    package = _package("figure1", Options(name="net"))
    flags = ("-O2", "-flto", "-fno-fat-lto-objects", "-Wno-lto-type-mismatch")
    program = _program(tmp_path, [package], "runner", "", *flags, checks=())
    assert _run([program], tmp_path, given) == wanted


@cache
def _example() -> Compiled:
    return _package("streaming-wake-word", Options(name="net"))


@pytest.mark.parametrize(
    ("family", "flags"),
    [
        ("arm-none-eabi", ["-mcpu=cortex-m0", "-mthumb"]),
        ("arm-none-eabi", ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]),
        ("riscv64-unknown-elf", ["-march=rv32imc", "-mabi=ilp32", "-ffreestanding"]),
    ],
)
def test_the_descriptor_on_other_cores(family: str, flags: list[str], tmp_path: Path) -> None:
    """C without a warning, and constant: nothing of it is in RAM."""
    compiler = find_compiler(family)
    _example().write(tmp_path)
    strict = ["-std=c99", *WARNINGS, "-Werror", "-O2", *flags, "-Isrc", "-Itflm"]
    file = "tflm/net_model_data.c"
    _run([*compiler, *strict, "-c", file, "-o", "net.o"], tmp_path)
    sizes = _run([compiler[0].replace("gcc", "size"), "net.o"], tmp_path).decode().split()
    assert sizes[7:9] == ["0", "0"], sizes


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m55"])
def test_the_interface_compiles_for_microcontrollers(core: str, tmp_path: Path) -> None:
    compiler = find_compiler("arm-none-eabi")[0].replace("gcc", "g++")
    _example().write(tmp_path)
    flags = ["-mthumb", f"-mcpu={core}", "-O2", "-Itflm", "-Isrc", "-fno-threadsafe-statics"]
    _run([compiler, *_CXX, *flags, "-c", "example/main.cc", "-o", "main.o"], tmp_path)


def test_the_api_refuses_too() -> None:
    with pytest.raises(UsageError, match="row by row"):
        _package("figure1", Options(name="net", input_mode="streamed"))
    check_modes("resident", "resident", False)
