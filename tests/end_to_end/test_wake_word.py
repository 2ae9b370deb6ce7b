"""examples/wake_word, built as its README says, on this computer and on a board: all is as in TFLM.

The sound is made here: tones that rise and stop, over noise.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lowtide.ir import Model
from lowtide.tflite.read import load
from networks import loaded
from stateful import Array, sequence

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "wake_word"
WORLD = ROOT.parent / "shared" / "world"
ZOO = ("zoo:audio-front-end", "zoo:streaming-wake-word", "zoo:streaming-voice-activity")
REAL = tuple(
    str(WORLD / f"{name}.tflite")
    for name in ("tflm_audio_preprocessor_int8", "mww_okay_nabu_v2", "mww_vad_v2")
)
HOP, FRAME, ROWS = 160, 480, 3
BOTH = pytest.mark.parametrize("networks", [ZOO, REAL], ids=["zoo", "others"])


def made_sound(hops: int = 150) -> Array:
    """So many times 10 ms, and a rest that is too short."""
    rng = np.random.default_rng(7)
    seconds = np.arange(hops * HOP + 99) / 16000
    tone = 9000 * np.sin(2 * np.pi * (150 + 400 * seconds) * seconds)
    tone *= np.sin(2 * np.pi * 2.5 * seconds) > -0.2
    heard = tone + rng.normal(0, 150, len(seconds)) + 30000 * (rng.random(len(seconds)) < 1e-4)
    heard[: 20 * HOP] = 0
    return np.clip(heard, -32768, 32767).astype("<i2")


def built(folder: Path, networks: tuple[str, ...], *flags: str, compiler: str) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "CC": compiler}
    given = networks if networks is REAL else ()
    command = ["sh", str(EXAMPLE / "build.sh"), *flags, str(folder), *given]
    subprocess.run(command, check=True, env=environment, capture_output=True)


def on_this_computer(folder: Path, networks: tuple[str, ...]) -> str:
    built(folder, networks, compiler="gcc -Werror -fsanitize=address,undefined")
    made_sound().tofile(folder / "made.raw")
    command = [str(folder / "wake_word"), str(folder / "made.raw")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def on_the_board(folder: Path, networks: tuple[str, ...]) -> str:
    built(folder, networks, "--board", compiler="arm-none-eabi-gcc -Werror")
    made_sound().tofile(folder / "sound.raw")
    emulator = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none"]
    emulator += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
    command = [*emulator, "-kernel", "wake_word.elf"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def told(networks: tuple[str, ...]) -> list[tuple[int, int, int]]:
    """TFLM: (milliseconds, wake word, voice), one interpreter for each network."""
    front, wake, voice = (
        loaded(n.removeprefix("zoo:")) if n.startswith("zoo:") else load(Path(n)) for n in networks
    )
    sound = made_sound()
    hops = len(sound) // HOP
    wide = front.graph.tensors[front.graph.inputs[0]].elements
    before = np.concatenate([np.zeros(wide - HOP, np.int16), sound])
    given = [(before[n * HOP : n * HOP + wide].reshape(1, wide),) for n in range(hops)]
    made = b"".join(out[0] for out in sequence(front, given, (0,)))
    features = np.frombuffer(made, np.int8)[: hops // ROWS * ROWS * 40].reshape(-1, 1, ROWS, 40)
    both = [
        [probability(model, out[0]) for out in sequence(model, [(x,) for x in features], (0,))]
        for model in (wake, voice)
    ]
    return [(10 * ROWS * (n + 1), w, v) for n, (w, v) in enumerate(zip(*both, strict=True))]


def probability(model: Model, output: bytes) -> int:
    """The last value, counted from the zero point."""
    made = model.graph.tensors[model.graph.outputs[0]]
    assert made.quant is not None
    value = np.frombuffer(output, made.dtype.name.lower()).astype(int)[-1]
    return int(value - made.quant.zero_point[0])


def printed(text: str) -> list[tuple[int, int, int]]:
    found = re.findall(r"^ *(\d+) ms: wake word +(\d+), voice +(\d+)", text, re.MULTILINE)
    return [(int(at), int(wake), int(voice)) for at, wake, voice in found]


def present(networks: tuple[str, ...]) -> None:
    if networks is REAL and not all(Path(path).exists() for path in REAL):
        pytest.skip("needs the networks of the optional folder ../shared/world")


def in_readme(text: str, first: str) -> None:
    """What does not depend on the computer is as the README has it."""
    readme = (EXAMPLE / "README.md").read_text()
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(first))
    for line in lines[start:]:
        assert f"\n{line}\n" in readme, line


@BOTH
def test_on_this_computer(networks: tuple[str, ...], tmp_path: Path) -> None:
    present(networks)
    text = on_this_computer(tmp_path, networks)
    wanted = told(networks)
    assert len({wake for _, wake, _ in wanted}) > 3  # the sound makes a difference
    assert printed(text) == wanted


@BOTH
def test_on_a_board(networks: tuple[str, ...], tmp_path: Path) -> None:
    present(networks)
    text = on_the_board(tmp_path, networks)
    assert printed(text) == told(networks)
    in_readme(text, "arena ")


def test_the_front_ends_agree() -> None:
    """The zoo's, which keeps sound by itself, and TFLM's own, which is given it again."""
    present(REAL)
    sound = made_sound()
    hops = len(sound) // HOP
    before = np.concatenate([np.zeros(FRAME - HOP, np.int16), sound])
    new = [(sound[n * HOP : (n + 1) * HOP].reshape(1, HOP),) for n in range(hops)]
    whole = [(before[n * HOP : n * HOP + FRAME].reshape(1, FRAME),) for n in range(hops)]
    ours = sequence(loaded("audio-front-end"), new, (0,))
    assert ours == sequence(load(Path(REAL[0])), whole, (0,))


# What microphone.c uses, where ESP-IDF declares it: driver/i2s_std.h has none of FreeRTOS.
_ESPRESSIF = {
    "freertos/FreeRTOS.h": "#define portMAX_DELAY 0xffffffffu\n",
    "driver/i2s_std.h": """
#include <stddef.h>
#include <stdint.h>
typedef void *i2s_chan_handle_t;
typedef struct { int id, role; } i2s_chan_config_t;
typedef struct {
    int clk_cfg, slot_cfg;
    struct { int mclk, bclk, ws, dout, din; } gpio_cfg;
} i2s_std_config_t;
enum { ESP_OK, GPIO_NUM_4, GPIO_NUM_5, GPIO_NUM_6, I2S_GPIO_UNUSED };
#define I2S_CHANNEL_DEFAULT_CONFIG(id, role) {0, 0}
#define I2S_STD_CLK_DEFAULT_CONFIG(rate) (rate)
#define I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(bits, mode) 0
int i2s_new_channel(const i2s_chan_config_t *, i2s_chan_handle_t *, i2s_chan_handle_t *);
int i2s_channel_init_std_mode(i2s_chan_handle_t, const i2s_std_config_t *);
int i2s_channel_enable(i2s_chan_handle_t);
int i2s_channel_read(i2s_chan_handle_t, void *, size_t, size_t *, uint32_t);
""",
}


def test_the_esp_idf_project_requires_the_same_of_both_sounds(tmp_path: Path) -> None:
    """ESP-IDF asks what components require in a run of its own, in which there is no -DMICROPHONE."""
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not installed")
    lists = EXAMPLE / "esp-idf" / "main" / "CMakeLists.txt"
    script = tmp_path / "ask.cmake"
    script.write_text(f"""
function(idf_component_register)
    cmake_parse_arguments(A "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES;EMBED_FILES" ${{ARGN}})
    message("needs ${{A_REQUIRES}};${{A_PRIV_REQUIRES}}")
    message("is ${{A_SRCS}};${{A_EMBED_FILES}}")
endfunction()
include({lists})
""")
    needs, files = zip(
        *(
            re.findall(
                r"^(?:needs|is) (.*)$",
                subprocess.run(
                    ["cmake", *given, "-P", str(script)], check=True, capture_output=True, text=True
                ).stderr,
                re.MULTILINE,
            )
            for given in ([], ["-DMICROPHONE=1"])
        ),
        strict=True,
    )
    assert needs[0] == needs[1] and "esp_driver_i2s" in needs[0]
    assert "sound_file.c;sound.raw" in files[0] and "microphone.c" in files[1]
    assert "sound" not in files[1]


def test_the_esp_idf_project_has_its_files(tmp_path: Path) -> None:
    """Its C that needs no header of Espressif's compiles; its CMake names files that there are."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    project = tmp_path / "wake_word" / "esp-idf"
    shutil.copytree(EXAMPLE, project.parent)
    command = ["sh", str(project / "components.sh")]
    subprocess.run(command, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    main = project / "main"
    named = re.findall(r'"([^"]+\.c)"', (main / "CMakeLists.txt").read_text())
    assert {(main / name).resolve().name for name in named} == {
        *("app_main.c", "microphone.c", "sound_file.c", "listen.c")
    }
    include = [f"-I{project}/components/{name}/src" for name in ("front", "wake", "voice")]
    stand_in = tmp_path / "stand-in"
    for header, text in _ESPRESSIF.items():
        (stand_in / header).parent.mkdir(parents=True)
        (stand_in / header).write_text(text)
    include.append(f"-I{stand_in}")
    for name in named:
        flags = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        command = ["gcc", *flags, *include, f"-I{project.parent}", f"-I{main}", str(main / name)]
        subprocess.run(command, check=True)
