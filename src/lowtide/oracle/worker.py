"""Runs one engine on one model, in a process of its own, for `lowtide.oracle.interpreters`.

Why a process: both engines may take the process down on models they cannot run, and TFLM writes its
figures to standard error from C. Started as ``python -m lowtide.oracle.worker FOLDER``, where
the folder holds

    model.tflite    the model
    request.json    {"task": "tensors" | "outputs" | "arena", "engine": "tflm" | "litert",
                     "tensors": [id, ...], "samples": [[id of an input, ...], ...],
                     "fresh": [number of a sample, ...]}
    inputs.npz      "SAMPLE_ID" -> array

and receives outputs.npz (as inputs.npz), or error.json: {"message": text, "missing": whether that is
because the engine is not installed}. Samples listed as fresh meet a new interpreter, the others that
of the sample before, with what its variables hold. Imports numpy and the engine asked for, and nothing
else of this package. Tasks: "tensors" gives those asked for; "outputs" (TFLM only) runs as on a device,
with any offline memory plan in the model honoured, and gives the model's outputs; "arena" (TFLM only)
has the arena figures written to standard error.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Runner = Callable[[Mapping[int, Array]], dict[int, Array]]
"""Inputs in, the tensors asked for out; variables are kept from one call to the next."""
Engine = Callable[[bytes, Sequence[int]], Runner]
"""Model and the tensors to ask for in, a new interpreter out."""

_PLAN = b"OfflineMemoryAllocation"
_MIB = 1 << 20


def _arena_bytes(graph: Any, model: bytes) -> int:
    """A generous arena: 12 bytes for every element of every tensor, ten times the model, 16 MiB.

    The system gives memory to pages only as they are touched, so too much costs nothing.
    """
    elements = 0
    for i in range(graph.TensorsLength()):
        tensor = graph.Tensors(i)
        elements += math.prod(max(1, tensor.Shape(d)) for d in range(tensor.ShapeLength()))
    return 12 * elements + 10 * len(model) + 16 * _MIB


def _tflm_graph(schema: Any, model: bytes) -> Any:
    """The main subgraph, through the schema that TFLM's package brings along."""
    graph = None
    if model[4:8] == b"TFL3":
        graph = schema.Model.GetRootAs(model, 0).Subgraphs(0)
    if graph is None:
        raise ValueError("this is not a .tflite file, or it holds no subgraph")
    return graph


def _without_plan(schema: Any, model: bytes) -> bytes:
    """The model with its offline memory plan renamed, so that TFLM plans by itself.

    TFLM refuses to follow a plan and to preserve all tensors at once; values do not depend on it.
    """
    root = schema.Model.GetRootAs(model, 0)
    changed = bytearray(model)
    for i in range(root.MetadataLength()):
        entry = root.Metadata(i)
        if entry.Name() == _PLAN:
            table = entry._tab
            changed[table.Vector(table.Offset(4))] = ord("x")  # the name's first letter
    return bytes(changed)


def _check_ids(ids: Sequence[int], count: int) -> None:
    for i in ids:
        if not 0 <= i < count:
            raise ValueError(f"there is no tensor {i}: the model has {count}")


def _check_inputs(given: Mapping[int, Array], wanted: Sequence[int]) -> None:
    if set(given) != set(wanted):
        raise ValueError(f"inputs are tensors {sorted(wanted)}, but {sorted(given)} were given")


def _tflm(model: bytes, ids: Sequence[int]) -> Runner:
    from tflite_micro import runtime

    graph = _tflm_graph(runtime.schema_fb, model)
    _check_ids(ids, graph.TensorsLength())  # TFLM crashes on an unknown one
    interpreter = runtime.Interpreter.from_bytes(
        _without_plan(runtime.schema_fb, model),
        arena_size=_arena_bytes(graph, model),
        intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
    )

    def run(inputs: Mapping[int, Array]) -> dict[int, Array]:
        _tflm_invoke(interpreter, graph, inputs)
        return {i: np.array(interpreter.GetTensor(i, 0)["tensor_data"]) for i in ids}

    return run


def _tflm_outputs(model: bytes, _: Sequence[int]) -> Runner:
    from tflite_micro import runtime

    graph = _tflm_graph(runtime.schema_fb, model)
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=_arena_bytes(graph, model))

    def run(inputs: Mapping[int, Array]) -> dict[int, Array]:
        _tflm_invoke(interpreter, graph, inputs)
        outputs = range(graph.OutputsLength())
        return {graph.Outputs(k): np.array(interpreter.get_output(k)) for k in outputs}

    return run


def _tflm_invoke(interpreter: Any, graph: Any, inputs: Mapping[int, Array]) -> None:
    wanted = [graph.Inputs(i) for i in range(graph.InputsLength())]
    _check_inputs(inputs, wanted)
    for position, tensor in enumerate(wanted):
        interpreter.set_input(inputs[tensor], position)
    interpreter.invoke()


def _litert(model: bytes, ids: Sequence[int]) -> Runner:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    interpreter.allocate_tensors()

    def run(inputs: Mapping[int, Array]) -> dict[int, Array]:
        _check_inputs(inputs, [int(detail["index"]) for detail in interpreter.get_input_details()])
        for tensor, array in inputs.items():
            interpreter.set_tensor(tensor, array)
        interpreter.invoke()
        return {i: np.array(interpreter.get_tensor(i)) for i in ids}

    return run


def _print_arena(model: bytes) -> None:
    """Have TFLM write the arena it allocated (head, tail and total) to standard error."""
    from tflite_micro import runtime

    graph = _tflm_graph(runtime.schema_fb, model)
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=_arena_bytes(graph, model))
    interpreter.print_allocations()


def _run(folder: Path, request: dict[str, Any]) -> None:
    model = (folder / "model.tflite").read_bytes()
    if request["task"] == "arena":
        _print_arena(model)
        return
    engine: Engine = _tflm if request["engine"] == "tflm" else _litert
    if request["task"] == "outputs":
        engine = _tflm_outputs
    fresh = set(request["fresh"])
    outputs: dict[str, Any] = {}
    with np.load(folder / "inputs.npz", allow_pickle=False) as stored:
        for sample, ids in enumerate(request["samples"]):
            if sample == 0 or sample in fresh:
                run = engine(model, request["tensors"])
            inputs = {i: stored[f"{sample}_{i}"] for i in ids}
            for i, array in run(inputs).items():
                if array.dtype.hasobject:
                    raise ValueError(f"tensor {i} holds strings, which cannot be compared")
                outputs[f"{sample}_{i}"] = array
    np.savez(folder / "outputs.npz", **outputs)


def main(folder: Path) -> int:
    """Serve the request in `folder`; return the exit code, 1 where error.json was written."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        _run(folder, request)
    except ImportError as error:
        report = {"missing": True, "message": str(error)}
    except Exception as error:  # the engines and the schema raise about everything
        report = {"missing": False, "message": str(error) or type(error).__name__}
    else:
        return 0
    (folder / "error.json").write_text(json.dumps(report), encoding="utf-8")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
