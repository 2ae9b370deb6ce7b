#!/bin/sh
# The main job on a built-in network: find out where its RAM goes, reorder its operators, prove the
# result the same. $1 is the folder of the installed commands.
set -eu
bin=$1
out=build/demo
mkdir -p "$out"

run() {
    printf '\n$ %s\n' "$*"
    command=$1
    shift
    "$bin/$command" "$@"
}

run lowtide analyze zoo:branchy-cell --plot "$out/branchy-cell.png"
run lowtide reorder zoo:branchy-cell -o "$out/branchy-cell.tflite" --offline-plan
printf '\nThe picture is in %s, the new model in %s.\n' \
    "$out/branchy-cell.png" "$out/branchy-cell.tflite"
