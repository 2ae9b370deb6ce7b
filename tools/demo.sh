#!/bin/sh
# The main job on a built-in network: find out where its RAM goes, put its operators into a better
# order, plan its rows, make C of it, prove the C right on this computer, and measure it on an emulated
# Cortex-M4.
# $1 is the folder of the installed commands.
set -eu
bin=$1
net=branchy-cell
board=mps2-an386
out=build/demo
mkdir -p "$out"

run() {
    printf '\n$ %s\n' "$*"
    command=$1
    shift
    "$bin/$command" "$@"
}

run lowtide analyze "zoo:$net" --plot "$out/$net.png"
run lowtide reorder "zoo:$net" -o "$out/$net.tflite" --offline-plan
run lowtide plan "zoo:$net" -o "$out/plan.json" --plot "$out/$net-plan.png"
run lowtide compile "zoo:$net" --plan "$out/plan.json" -o "$out/c"
run lowtide verify "zoo:$net"
run lowtide run "zoo:$net" --board "$board"

"$bin/lowtide" analyze "zoo:$net" --json >"$out/analysis.json"
"$bin/lowtide" run "zoo:$net" --board "$board" --json >"$out/run.json"
printf '\nThe pictures are in %s and %s, the reordered model in %s, the C in %s.\n\n' \
    "$out/$net.png" "$out/$net-plan.png" "$out/$net.tflite" "$out/c"
"$bin/python" - "$out/analysis.json" "$out/run.json" <<'END'
import json
import sys

analysis, run = (json.load(open(path)) for path in sys.argv[1:])
before, after = analysis["tflm_greedy_arena_bytes"], run["ram"]["total_bytes"]
print(f"RAM before: {before:>9,} B  TensorFlow Lite Micro's tensors, in the file's order (predicted)")
print(f"RAM after:  {after:>9,} B  all that lowtide's program needs, stack included (measured)")
print(f"            {after / before - 1:>9.1%}")
END
