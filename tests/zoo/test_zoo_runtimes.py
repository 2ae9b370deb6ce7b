"""Every network runs in TFLM and in LiteRT, reacts to its input, and is sensibly quantised."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import pytest
from quantised import QUANTISED

from lowtide import zoo

_PROBE = Path(__file__).with_name("zoo_probe.py")
_CLIPPING = (1, 3)  # RELU, RELU6
_COPYING = (
    *("CONCATENATION", "MAX_POOL_2D", "AVERAGE_POOL_2D", "RESHAPE", "TRANSPOSE", "MEAN"),
    *("SPLIT_V", "STRIDED_SLICE"),
)


def _kind(model: Any, op: Any) -> str:
    code = model.operatorCodes[op.opcodeIndex].builtinCode
    names = vars(schema.BuiltinOperator).items()
    return str(next(name for name, value in names if value == code))


@pytest.mark.parametrize("name", QUANTISED)
def test_runs_in_both_runtimes(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_PROBE), name],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("PROBE "))
    seen = json.loads(line.removeprefix("PROBE "))
    assert seen["outputs"] == 4, "the output must depend on the input"
    assert seen["difference"] <= 8, "the two runtimes round differently, but not by much"

    model = schema.ModelT.InitFromPackedBuf(zoo.build(name), 0)
    clipped: set[int] = set()
    made = [(op, int(tensor)) for op in model.subgraphs[0].operators for tensor in op.outputs]
    for op, output in made:
        kind, share = _kind(model, op), seen["saturated"].get(str(output), 0.0)
        if kind == "SOFTMAX":
            continue
        # What a variable holds was clipped, or not, before it was assigned.
        fused = (
            kind == "READ_VARIABLE"
            or getattr(op.builtinOptions, "fusedActivationFunction", 0) in _CLIPPING
        )
        inherited = kind in _COPYING and any(int(i) in clipped for i in op.inputs)
        if fused or inherited:
            clipped.add(output)
        limit = 0.7 if output in clipped else 0.2
        assert share < limit, f"{kind} {output} is saturated"
