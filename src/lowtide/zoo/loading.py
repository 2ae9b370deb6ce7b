"""Networks by what users have: a path, the name of one of the zoo, the bytes of a file, or a model."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lowtide.errors import ModelError, UsageError
from lowtide.ir import Model
from lowtide.sizes import MOST_FILE
from lowtide.tflite.read import load as load_file
from lowtide.tflite.read import parse
from lowtide.zoo import build

_ZOO: Final = "zoo:"

Named = Model | bytes | str | Path
"""What every function that asks for a model takes."""


def load(model: Named, *, max_file: int = MOST_FILE) -> Model:
    """The model at a path, a built-in one named as "zoo:NAME", or that of the bytes of a file; one that
    is loaded is returned as it is.

    Raises ModelError for a file that cannot be used, or of more than `max_file` bytes, UsageError for an
    unknown zoo name, or for anything that is not a name.
    """
    match model:
        case Model():
            return model
        case bytes():
            return parse(model)
        case "":
            raise ModelError("no model is named", "give the path of a .tflite file, or zoo:NAME")
        case str() if model.startswith(_ZOO):
            return parse(build(model.removeprefix(_ZOO)), path=model)
        case str() | Path():
            return load_file(model, max_file=max_file)
    raise UsageError(
        f"{type(model).__name__} is neither a model nor the name of one",
        "give a path, zoo:NAME, the bytes of a .tflite file, or what lowtide.load returns",
    )
