#!/bin/sh
# Make the virtual environment $2 with Python $1 and install lowtide and its tests' needs into it.
# Says what it does. Debian packages are installed only where something is missing.
set -eu
python=$1
venv=$2

say() { printf 'setup: %s\n' "$*"; }

apt_install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        say "please install these yourself, there is no apt-get here: $*"
        exit 4
    fi
    sudo=
    if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
    say "installing with apt-get: $*"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq "$@" >/dev/null
}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "$python is missing or older than 3.11"
    apt_install python3 python3-venv
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install python3-venv
fi

# Compilers and emulators for `lowtide verify` and `lowtide run`, and their tests.
packages=
need() { # need PACKAGE TEST...: remember the package unless the test succeeds
    package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then packages="$packages $package"; fi
}
need gcc command -v gcc
need g++ command -v g++
need libc6-dev sh -c 'echo "#include <stdio.h>" | gcc -E - '
need gcc-arm-none-eabi command -v arm-none-eabi-gcc
need libnewlib-arm-none-eabi sh -c 'echo "#include <stdio.h>" | arm-none-eabi-gcc -E -'
need libstdc++-arm-none-eabi-newlib sh -c 'echo "#include <memory>" | arm-none-eabi-g++ -x c++ -E -'
need gcc-riscv64-unknown-elf command -v riscv64-unknown-elf-gcc
need picolibc-riscv64-unknown-elf \
    sh -c 'echo "#include <stdio.h>" | riscv64-unknown-elf-gcc --specs=picolibc.specs -E -'
need gcc-xtensa-lx106 command -v xtensa-lx106-elf-gcc
need valgrind command -v valgrind
need cppcheck command -v cppcheck
need clang-tidy command -v clang-tidy
need qemu-system-arm command -v qemu-system-arm
need qemu-system-misc command -v qemu-system-riscv32
need chromium command -v chromium
need cmake command -v cmake
need zsh command -v zsh
need fish command -v fish
need chromium-driver command -v chromedriver
# shellcheck disable=SC2086 # a list of words
if [ -n "$packages" ]; then apt_install $packages; fi

if [ ! -x "$venv/bin/python" ]; then
    say "making the virtual environment $venv"
    "$python" -m venv "$venv"
fi
say "installing lowtide and its test tools into $venv with pip"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[test]'
say "fetching Python for browsers, if it is not there"
"$venv/bin/python" tools/pyodide.py || say "it cannot be had, and its tests are skipped: see tools/pyodide.py"
say "done"
