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
    """Load a model from a path, from the bytes of a file, or a built-in one as "zoo:NAME".

    A loaded model is returned unchanged. Raises ModelError for a file that cannot be used, or that
    has more than `max_file` bytes. Raises UsageError for an unknown zoo name, or for anything that
    is not a name.
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
