"""Compilers and emulators are found by any usual name, on the PATH and where installers put them.

The compilers here are scripts that know of one file, or of none.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lowtide.errors import MissingToolError
from lowtide.machines import finding
from lowtide.machines.finding import EMULATORS, TOOLCHAINS, find_compiler, find_program


def tool(folder: Path, name: str, known: str = "") -> str:
    """A program in `folder`; a compiler that finds the file `known`."""
    folder.mkdir(parents=True, exist_ok=True)
    answer = f"case $1 in *={known}) echo /lib/{known};; *) echo nothing;; esac"
    (folder / name).write_text(f"#!/bin/sh\n{answer}\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder on the PATH; no others are known."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(finding, "FOLDERS", {})
    return tmp_path / "bin"


@pytest.mark.parametrize(
    "name", ["riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc", "riscv-none-elf-gcc"]
)
def test_any_usual_name(name: str, only: Path) -> None:
    path = tool(only, name, "libc.a")
    assert find_compiler("riscv64-unknown-elf") == (path,)


def test_a_library_has_its_flags(only: Path) -> None:
    path = tool(only, "riscv64-unknown-elf-gcc", "picolibc.specs")
    assert find_compiler("riscv64-unknown-elf") == (path, "--specs=picolibc.specs")


def test_a_compiler_with_a_library_goes_before_one_without(only: Path) -> None:
    tool(only, "riscv64-unknown-elf-gcc")
    path = tool(only, "riscv-none-elf-gcc", "libc.a")
    assert find_compiler("riscv64-unknown-elf") == (path,)


@pytest.mark.parametrize("name", ["gcc", "clang", "cc"])
def test_the_host_s_compiler(name: str, only: Path) -> None:
    path = tool(only, name, "libc.so.6")
    assert find_compiler("host") == (path,)


def test_folders_of_installers_the_newest_first(
    tmp_path: Path, only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(finding, "FOLDERS", {sys.platform: ("~/xPacks/*/.content/bin",)})
    tool(tmp_path / "xPacks/13.2.1/.content/bin", "arm-none-eabi-gcc", "libc.a")
    newer = tool(tmp_path / "xPacks/14.2.1/.content/bin", "arm-none-eabi-gcc", "libc.a")
    emulator = tool(tmp_path / "xPacks/14.2.1/.content/bin", "qemu-system-arm")
    assert find_compiler("arm-none-eabi") == (newer,)
    assert find_program("qemu-system-arm", EMULATORS["qemu-system-arm"]) == emulator
    on_path = tool(only, "arm-none-eabi-gcc", "libc.a")
    assert find_compiler("arm-none-eabi") == (on_path,)


@pytest.mark.parametrize(
    ("system", "remedies"),
    [
        (
            "linux",
            {
                "arm-none-eabi": "sudo apt-get install gcc-arm-none-eabi",
                "riscv64-unknown-elf": "sudo apt-get install gcc-riscv64-unknown-elf",
                "qemu-system-arm": "sudo apt-get install qemu-system-arm",
            },
        ),
        (
            "darwin",
            {
                "arm-none-eabi": "brew install --cask gcc-arm-embedded",
                "riscv64-unknown-elf": (
                    "xpm install --global @xpack-dev-tools/riscv-none-elf-gcc@latest"
                ),
                "qemu-system-arm": "brew install qemu",
            },
        ),
        (
            "win32",
            {
                "arm-none-eabi": "winget install Arm.GnuArmEmbeddedToolchain",
                "riscv64-unknown-elf": (
                    "xpm install --global @xpack-dev-tools/riscv-none-elf-gcc@latest"
                ),
                "qemu-system-arm": "winget install SoftwareFreedomConservancy.QEMU",
            },
        ),
    ],
)
def test_what_is_missing_is_named_with_what_installs_it(
    system: str, remedies: Mapping[str, str], only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not only.exists()
    monkeypatch.setattr("shutil.which", lambda _, path=None: path)  # it looks at the system, too
    monkeypatch.setattr("sys.platform", system)
    for name, remedy in remedies.items():
        with pytest.raises(MissingToolError) as caught:
            if name in TOOLCHAINS:
                find_compiler(name)
            else:
                find_program(name, EMULATORS[name])
        assert caught.value.exit_code == 4
        assert caught.value.remedy == f"install it: {remedy}"


def test_a_compiler_without_a_library(only: Path) -> None:
    tool(only, "arm-none-eabi-gcc")
    with pytest.raises(MissingToolError) as caught:
        find_compiler("arm-none-eabi")
    assert str(caught.value) == (
        "arm-none-eabi-gcc has no C library\n"
        "  remedy: install it: sudo apt-get install libnewlib-arm-none-eabi"
    )
