#!/bin/sh
# Build packages of --export in what they are for, as far as it is to be had here, and say what was
# built with which version, and what was not: tools/try_packages.sh [FOLDER] [WAKE_WORD.tflite].
# docs/packages.md has what it said. Nothing is installed; pip downloads ESPHome's sources into FOLDER.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-/tmp/try_packages}
wake=${2:-$here/../../shared/world/mww_okay_nabu_v2.tflite}
python=${PYTHON:-python3}
mkdir -p "$out"
cd "$out"

built() { printf 'built    %s\n' "$*"; }
skipped() { printf 'skipped  %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }
export_as() { # export_as KIND FOLDER NETWORK [OPTION...]: a package, made anew
    kind=$1 folder=$2 network=$3
    shift 3
    rm -rf "$folder"
    "$python" -m lowtide compile "$network" --name net --export "$kind" -o "$folder" --no-advice "$@" >/dev/null
}

# CMake, and firmware for TensorFlow Lite Micro with it.
if have cmake; then
    for kind in cmake tflm; do
        export_as "$kind" "$kind" zoo:branchy-cell
        cmake -S "$kind" -B "$kind/build" -DCMAKE_BUILD_TYPE=Release >/dev/null
        cmake --build "$kind/build" >/dev/null
        "$kind/build/example/net_example" >"$kind/printed"
        built "$kind: $(cmake --version | sed -n 's/^cmake version/CMake/p'), $(cc --version | sed -n 1p)"
    done
    cmp cmake/printed tflm/printed
else
    skipped "cmake, tflm: there is no CMake"
fi

# The Pico SDK, on this computer, where its output is compared, and for both of its chips.
if [ ! -f "${PICO_SDK_PATH:-}/pico_sdk_init.cmake" ]; then
    skipped "Pico SDK: PICO_SDK_PATH names none"
else
    for platform in host rp2040 rp2350-arm-s; do
        rm -rf "pico-$platform"
        cmake -S "$here/packages/pico" -B "pico-$platform" -DPICO_PLATFORM=$platform -DPICO_NO_PICOTOOL=1 \
            -DPACKAGE="$out/cmake" -DCMAKE_BUILD_TYPE=Release >/dev/null 2>&1
        cmake --build "pico-$platform" >/dev/null
    done
    pico-host/app >pico-host/printed
    cmp pico-host/printed cmake/printed
    version=$(sed -n 's/^ *set(PICO_SDK_VERSION_[MR][AIE][A-Z]* \([0-9]*\))/\1/p' \
        "$PICO_SDK_PATH/pico_sdk_version.cmake" | paste -sd .)
    built "Pico SDK $version: host, rp2040, rp2350-arm-s"
fi

# A plain folder, as an IDE compiles it: all .c files, one include path.
export_as cmake plain zoo:branchy-cell
cc -std=c99 -O2 -Iplain/src plain/src/*.c plain/example/main.c -o plain/program
plain/program >plain/printed
built "plain folder: $(cc --version | sed -n 1p)"

# ESPHome's own streaming_model.cpp, against what is in tools/packages in place of the rest of it.
if [ ! -f "$wake" ]; then
    skipped "ESPHome: there is no $wake"
elif "$python" -m pip download --quiet --no-deps --dest esphome esphome 2>/dev/null; then
    wheel=$(ls esphome/esphome-*.whl)
    "$python" -m zipfile -e "$wheel" esphome/source
    rm -rf word
    "$python" -m lowtide compile "$wake" --name wake --export tflm -o word --no-advice >/dev/null
    mkdir -p stand-in/esphome/core
    for header in preferences helpers log; do
        echo '#include "esphome.h"' >"stand-in/esphome/core/$header.h"
    done
    own=esphome/source/esphome/components/micro_wake_word
    (cd word && cc -O2 -c -Isrc -Itflm src/*.c tflm/*.c)
    c++ -std=gnu++20 -O2 -DUSE_ESP32 -Istand-in -I"$here/packages" -Iword/tflm -I"$own" \
        "$own/streaming_model.cpp" "$here/packages/esphome_main.cc" word/*.o -o esphome/program
    esphome/program >esphome/printed 2>esphome/told
    "$python" "$here/packages/esphome_wanted.py" "$wake" >esphome/wanted
    cmp esphome/printed esphome/wanted
    built "$(basename "$wheel" -py3-none-any.whl): streaming_model.cpp, $(tail -n 1 esphome/told)"
else
    skipped "ESPHome: pip cannot download it"
fi

# Rust: the bundle as a static library; its few calls are declared by hand, and by bindgen.
if ! have cargo; then
    skipped "Rust: there is no cargo"
else
    rm -rf rust
    cp -R "$here/packages/rust" rust
    cp -R plain/src rust/net
    (cd rust && cargo build --quiet --release --offline)
    rust/target/release/net-in-rust >rust/printed
    cmp rust/printed plain/printed
    built "Rust: $(rustc --version)"
    if have bindgen; then
        bindgen rust/net/net.h --allowlist-function 'net_.*' --allowlist-var 'NET_.*' -o rust/src/net.rs -- -Irust/net
        (cd rust && cargo build --quiet --release --offline --features bindgen)
        rust/target/release/bound-in-rust >rust/bound
        cmp rust/bound plain/printed
        built "Rust with $(bindgen --version)"
    else
        skipped "Rust's bindgen: there is no bindgen"
    fi
fi

for tool in west:Zephyr idf.py:ESP-IDF pio:PlatformIO arduino-cli:Arduino packchk:CMSIS-Pack; do
    have "${tool%%:*}" || skipped "${tool#*:}: there is no ${tool%%:*}"
done
