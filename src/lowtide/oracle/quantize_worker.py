"""Quantises one model with litert-quantizer: a process of its own, as it prints, warns and loads much.

Called as `python -m lowtide.oracle.quantize_worker FOLDER`, with model.tflite, samples.npz and
request.json in it; leaves quantized.tflite and done.json, or error.json, there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def _quantize(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    from importlib.metadata import version

    from litert_quantizer import algorithm_manager, calibrator, qtyping, quantizer, recipe_manager
    from litert_quantizer.utils import qsv_utils

    model = (folder / "model.tflite").read_bytes()
    names, operation = algorithm_manager.AlgorithmName, qtyping.TFLOperationName
    made = quantizer.Quantizer(model)
    made.add_static_config(".*", operation.ALL_SUPPORTED, request["bits"], 8)
    for name, floats in ((operation.INPUT, "float_input"), (operation.OUTPUT, "float_output")):
        if request[floats]:
            made.update_quantization_recipe(".*", name, algorithm_key=names.NO_QUANTIZE)
    # Of all samples the least and the greatest values: by default they are averaged, and what only some
    # samples reach, such as the logits of a rare class, is clipped.
    recipe = recipe_manager.RecipeManager()
    recipe.load_quantization_recipe(made.get_quantization_recipe())
    ranges = calibrator.Calibrator(model, num_threads=1, qsv_update_func=qsv_utils.min_max_update)
    ranges.calibrate({request["key"]: _samples(folder)}, recipe)
    result = made.quantize(
        ranges.get_model_qsvs(), enable_progress_bar=False, enable_progress_report=False
    )
    (folder / "quantized.tflite").write_bytes(bytes(result.quantized_model))
    return {"version": version("litert-quantizer")}


def _samples(folder: Path) -> list[dict[str, Any]]:
    """One mapping a sample, name of the input -> array: a list, as it is gone through twice."""
    with np.load(folder / "samples.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    count = len(next(iter(arrays.values())))
    return [{names[key]: array[n] for key, array in arrays.items()} for n in range(count)]


def main(folder: Path) -> int:
    """Serve the request in `folder`; return the exit code, 1 where error.json was written."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        done = _quantize(folder, request)
    except ImportError as error:
        report = {"missing": True, "message": str(error)}
    except Exception as error:  # whatever it raises is a refusal
        report = {"missing": False, "message": f"{type(error).__name__}: {error}"}
    else:
        (folder / "done.json").write_text(json.dumps(done), encoding="utf-8")
        return 0
    (folder / "error.json").write_text(json.dumps(report), encoding="utf-8")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
