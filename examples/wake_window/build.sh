#!/bin/sh
# Compiles a front end and a network without state whose window slides over the rows that it makes, and a
# program that runs both in one arena:
#
#     examples/wake_window/build.sh FOLDER [FRONT NETWORK HOP]
#     examples/wake_window/build.sh --board FOLDER [FRONT NETWORK HOP]     for a Cortex-M4, see README.md
#
# By default they are networks of the zoo, and the window moves on with every row. CC is the compiler to use.
set -e
here=$(cd "$(dirname "$0")" && pwd)
beside=$here/../wake_word
board=
core=any
if [ "$1" = --board ]; then
    board=$beside/board
    core=cortex-m4
    shift
fi
folder=$1
mkdir -p "$folder"
lowtide compile "${2:-zoo:audio-front-end}" --name front --core "$core" -o "$folder/nets"
lowtide compile "${3:-zoo:wake-word-window}" --hop "${4:-1}" --name wake --core "$core" -o "$folder/nets"
set -- -std=c99 -O2 -Wall -Wextra -Wconversion -Wshadow -ffunction-sections -fdata-sections \
    -I "$beside" -I "$folder/nets" "$here/main.c" "$folder"/nets/*.c
if [ -n "$board" ]; then
    # The board's memory is as large as QEMU's, and code is loaded where it runs.
    ${CC:-arm-none-eabi-gcc} -mcpu=cortex-m4 -mthumb -DBOARD --specs=rdimon.specs -nostartfiles \
        -Wl,--gc-sections -T "$board/board.ld" "$@" "$board/start.c" -lm -o "$folder/wake_window.elf"
else
    ${CC:-cc} "$@" -lm -o "$folder/wake_window"
fi
