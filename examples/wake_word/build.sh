#!/bin/sh
# Compiles a front end and two networks that listen into one folder, and a program that runs them in one arena:
#
#     examples/wake_word/build.sh FOLDER [FRONT WAKE VOICE]
#     examples/wake_word/build.sh --board FOLDER [FRONT WAKE VOICE]     for a Cortex-M4, see README.md
#
# By default they are networks of the zoo. CC is the compiler to use.
set -e
here=$(cd "$(dirname "$0")" && pwd)
board=
core=any
if [ "$1" = --board ]; then
    board=$here/board
    core=cortex-m4
    shift
fi
folder=$1
mkdir -p "$folder"
lowtide compile "${2:-zoo:audio-front-end}" --name front --core "$core" -o "$folder/nets"
lowtide compile "${3:-zoo:streaming-wake-word}" --name wake --core "$core" -o "$folder/nets"
lowtide compile "${4:-zoo:streaming-voice-activity}" --name voice --core "$core" -o "$folder/nets"
set -- -std=c99 -O2 -Wall -Wextra -Wconversion -Wshadow -ffunction-sections -fdata-sections \
    -I "$here" -I "$folder/nets" "$here/main.c" "$here/listen.c" "$folder"/nets/*.c
if [ -n "$board" ]; then
    # The board's memory is as large as QEMU's, and code is loaded where it runs.
    ${CC:-arm-none-eabi-gcc} -mcpu=cortex-m4 -mthumb -DBOARD --specs=rdimon.specs -nostartfiles \
        -Wl,--gc-sections -T "$board/board.ld" "$@" "$board/start.c" -lm -o "$folder/wake_word.elf"
else
    ${CC:-cc} "$@" -lm -o "$folder/wake_word"
fi
