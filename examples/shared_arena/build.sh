#!/bin/sh
# Compiles three networks with state into one folder, and a program that runs them in one arena:
#
#     examples/shared_arena/build.sh FOLDER [FIRST SECOND VOICE]
#
# By default they are networks of the zoo; give any three with state, int8 in and out.
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
mkdir -p "$folder"
lowtide compile "${2:-zoo:streaming-wake-word}" --name first -o "$folder/nets"
lowtide compile "${3:-zoo:streaming-wake-word}" --name second -o "$folder/nets"
lowtide compile "${4:-zoo:lstm-gestures}" --name voice -o "$folder/nets"
${CC:-cc} -std=c99 -O2 -Wall -Wextra -Wconversion -Wshadow -I "$folder/nets" \
    "$here/main.c" "$folder"/nets/*.c -lm -o "$folder/shared_arena"
