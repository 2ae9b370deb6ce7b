"""Finding compilers and emulators, by any of their usual names, wherever installers put them.

Why not by PATH alone: on Windows and macOS few installers add to it. What is missing is named with the
command that installs it on this system.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from lowtide.errors import MissingToolError


@dataclass(frozen=True, slots=True)
class Install:
    """How a program is installed: a Debian package; what to do on macOS, and on Windows."""

    debian: str
    macos: str
    windows: str

    @property
    def remedy(self) -> str:
        """What to do on this system."""
        match sys.platform:
            case "darwin":
                return f"install it: {self.macos}"
            case "win32":
                return f"install it: {self.windows}"
            case _:
                return f"install it: sudo apt-get install {self.debian}"


@dataclass(frozen=True, slots=True)
class Library:
    """A C library: the compiler finds `probe` if it is there, and uses it with `flags`."""

    probe: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler's usual names, how it and its C library are installed, and the flags it always needs.

    The first one that is found with one of `libraries` is taken; the first that is found, if there are
    none to look for.
    """

    compilers: tuple[str, ...]
    install: Install
    libraries: tuple[Library, ...] = ()
    library_install: Install | None = None
    flags: tuple[str, ...] = ()


def _xpack(name: str) -> str:
    return f"xpm install --global @xpack-dev-tools/{name}@latest"


TOOLCHAINS: Final[Mapping[str, Toolchain]] = MappingProxyType(
    {
        "arm-none-eabi": Toolchain(
            ("arm-none-eabi-gcc",),
            Install(
                "gcc-arm-none-eabi",
                "brew install --cask gcc-arm-embedded",
                "winget install Arm.GnuArmEmbeddedToolchain",
            ),
            (Library("libc.a"),),
            Install(
                "libnewlib-arm-none-eabi",
                "brew install --cask gcc-arm-embedded",
                "winget install Arm.GnuArmEmbeddedToolchain",
            ),
        ),
        "riscv64-unknown-elf": Toolchain(
            (
                *("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc"),  # Debian, SiFive, brew
                *("riscv-none-elf-gcc", "riscv-none-embed-gcc"),  # xPack, now and before
                *("riscv64-elf-gcc", "riscv32-esp-elf-gcc"),
            ),
            Install(
                "gcc-riscv64-unknown-elf",
                _xpack("riscv-none-elf-gcc"),
                _xpack("riscv-none-elf-gcc"),
            ),
            (Library("picolibc.specs", ("--specs=picolibc.specs",)), Library("libc.a")),
            Install(
                *("picolibc-riscv64-unknown-elf", _xpack("riscv-none-elf-gcc")),
                _xpack("riscv-none-elf-gcc"),
            ),
        ),
    }
)
_LLVM: Final = "winget install MartinStorsjo.LLVM-MinGW.UCRT"
# Compilers that build no board: the host's, and those whose code nothing here can run.
_OTHERS: Final[Mapping[str, Toolchain]] = MappingProxyType(
    {
        # On Windows, clang comes with the sanitizers, and gcc without.
        "host": Toolchain(
            ("clang", "gcc", "cc") if sys.platform == "win32" else ("gcc", "clang", "cc"),
            Install("gcc", "xcode-select --install", _LLVM),
            (Library("libc.so.6"), Library("libc.so")) if sys.platform == "linux" else (),
            Install("libc6-dev", "xcode-select --install", _LLVM),
        ),
        # Debian has no C library for it: boards/nolibc declares what bundles use.
        "xtensa-lx106-elf": Toolchain(
            ("xtensa-lx106-elf-gcc",),
            Install("gcc-xtensa-lx106", *["the toolchain of Espressif's ESP8266_RTOS_SDK"] * 2),
            flags=("-ffreestanding", "-isystem", "nolibc"),
        ),
    }
)
_QEMU: Final = ("brew install qemu", "winget install SoftwareFreedomConservancy.QEMU")
EMULATORS: Final[Mapping[str, Install]] = MappingProxyType(
    {
        "qemu-system-arm": Install("qemu-system-arm", *_QEMU),
        "qemu-system-riscv32": Install("qemu-system-misc", *_QEMU),
    }
)

FOLDERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "linux": (
            "~/.local/xPacks/@xpack-dev-tools/*/*/.content/bin",
            *("/opt/arm-gnu-toolchain*/bin", "/opt/gcc-arm-none-eabi*/bin"),
            "/home/linuxbrew/.linuxbrew/bin",
        ),
        "darwin": (
            *("/opt/homebrew/bin", "/usr/local/bin"),
            "/Applications/ArmGNUToolchain/*/arm-none-eabi/bin",
            "~/Library/xPacks/@xpack-dev-tools/*/*/.content/bin",
        ),
        "win32": (
            *("%ProgramFiles%/qemu", "%ProgramFiles%/LLVM/bin"),
            "%ProgramFiles%/Arm GNU Toolchain arm-none-eabi/*/bin",
            "%ProgramFiles(x86)%/Arm GNU Toolchain arm-none-eabi/*/bin",
            "%LOCALAPPDATA%/Microsoft/WinGet/Links",
            "%APPDATA%/xPacks/@xpack-dev-tools/*/*/.content/bin",
        ),
    }
)
"""Where installers put programs on a system, PATH aside."""


def find_program(program: str, install: Install) -> str:
    """The path of `program`. Raises MissingToolError, saying how to `install` it, if not found."""
    for path in _places(program):
        return path
    raise MissingToolError(f"{program} is not installed", install.remedy)


def find_compiler(name: str) -> tuple[str, ...]:
    """The compiler of toolchain `name` with the flags it always needs.

    Raises MissingToolError, saying how to install it, if it or its C library is not there.
    """
    toolchain = TOOLCHAINS.get(name) or _OTHERS[name]
    found = [path for compiler in toolchain.compilers for path in _places(compiler)]
    if not found:
        raise MissingToolError(
            f"{toolchain.compilers[0]} is not installed", toolchain.install.remedy
        )
    if not toolchain.libraries:
        return (found[0], *toolchain.flags)
    for path in found:
        for library in toolchain.libraries:
            if _has_file(path, library.probe):
                return (path, *toolchain.flags, *library.flags)
    install = toolchain.library_install or toolchain.install
    raise MissingToolError(f"{Path(found[0]).stem} has no C library", install.remedy)


def _places(program: str) -> Iterator[str]:
    """Where `program` is: on the PATH, then in other folders, the last by name first."""
    for folders in (None, *_folders()):
        path = shutil.which(program, path=folders)
        if path is not None:
            yield path


def _folders() -> Iterator[str]:
    for pattern in FOLDERS.get(sys.platform, ()):
        expanded = os.path.expanduser(os.path.expandvars(pattern))  # noqa: PTH111  # Path has no vars
        yield from sorted(glob.glob(expanded), reverse=True)  # noqa: PTH207  # an absolute pattern


@cache
def _has_file(compiler: str, file: str) -> bool:
    found = subprocess.run(
        [compiler, f"-print-file-name={file}"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return Path(found.stdout.strip()).is_absolute()
