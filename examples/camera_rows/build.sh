#!/bin/sh
# Compiles a network whose input comes line by line, and a program that has a camera bring the lines:
#
#     examples/camera_rows/build.sh FOLDER
#     examples/camera_rows/build.sh --board FOLDER     for a Cortex-M4, see README.md
#
# The network ends before its softmax, which changes no order of scores. CC is the compiler to use.
set -e
here=$(cd "$(dirname "$0")" && pwd)
core=any
if [ "$1" = --board ]; then
    core=cortex-m4
    shift
fi
folder=$1
mkdir -p "$folder"
lowtide compile zoo:mobilenet-v1-0.25-96 --until 87 --name vww --input streamed --input-type uint8 \
    --core "$core" -o "$folder/nets"
set -- -std=c99 -O2 -Wall -Wextra -Wconversion -Wshadow -ffunction-sections -fdata-sections \
    -I "$here" -I "$folder/nets" "$here/main.c" "$here/camera.c" "$folder"/nets/*.c
if [ "$core" = cortex-m4 ]; then
    ${CC:-arm-none-eabi-gcc} -mcpu=cortex-m4 -mthumb --specs=rdimon.specs -nostartfiles \
        -Wl,--gc-sections -T "$here/../wake_word/board/board.ld" "$@" "$here/on_board.c" -lm \
        -o "$folder/camera.elf"
else
    ${CC:-cc} "$@" "$here/on_computer.c" -lm -o "$folder/camera"
fi
