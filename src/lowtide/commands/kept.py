"""Programs compiled before: `verify` and `run` of the same model need not search for its plan again.

What a program depends on is the model, the options, and lowtide itself with the Python and the numpy
below it; the key of an entry is all of these. Entries are pickled, so whoever can write them can have
this process run what they like: the cache gives only what the user wrote, in a folder where nobody else
can (`lowtide.cache`). Objects lie there as well, and are linked and run.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from functools import cache
from pathlib import Path

import numpy as np

from lowtide.cache import user_cache
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.ir import Model

_ENDINGS = (".py", ".toml", ".c", ".h")


def compiled_once(model: Model, options: Options, *, cached: bool = True) -> Compiled:
    """As `compile_model`; with `cached`, what the same call made before, if it is still there."""
    store = user_cache() if cached else None
    if store is None:
        return compile_model(model, options)
    key = _key(model, options)
    kept = store.get(key)
    if kept is not None:
        try:
            return _read(kept)
        except Exception:  # whatever is wrong with it: it can be made anew
            pass
    compiled = compile_model(model, options)
    store.put(key, pickle.dumps(compiled))
    return compiled


def _read(kept: bytes) -> Compiled:
    found = pickle.loads(kept)
    if not isinstance(found, Compiled):
        raise TypeError(f"{type(found)} is no program")
    return found


def _key(model: Model, options: Options) -> str:
    source = hashlib.sha256(model.source).digest()
    ends = model.graph.inputs, model.graph.outputs  # of a part of the file's network
    told = (_lowtide(), model.path, source, ends, options)
    return hashlib.sha256(repr(told).encode()).hexdigest()


@cache
def _lowtide() -> tuple[str, ...]:
    """What tells this lowtide from any other: its files, as a version may stay when they change."""
    return sys.version, np.__version__, _digest(Path(__file__).parents[1])


def _digest(package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in _ENDINGS:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(package)} {len(content)} ".encode() + content)
    return digest.hexdigest()
