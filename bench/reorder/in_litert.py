"""Do two models compute the same, tensor by tensor, in LiteRT's reference kernels?

Why: `lowtide reorder` checks what it writes, with lowtide's own oracle. Here the two files are run
and compared by code that knows nothing of lowtide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Sameness:
    """Of `tensors` (constants included) `equal` have the same bytes in both models on all inputs.

    `varying` of them differ between the inputs, so that equality means something.
    """

    tensors: int
    equal: int
    varying: int


def compare_in_litert(left: bytes, right: bytes, *, samples: int, seed: int) -> Sameness:
    """Run both models on the same random inputs. Raises RuntimeError if LiteRT cannot."""
    rng = np.random.default_rng(seed)
    seen: dict[int, list[tuple[bytes | None, bytes | None]]] = {}
    for _ in range(samples):
        # Fresh interpreters: nothing carries over from one sample to the next.
        pair = [_interpreter(model) for model in (left, right)]
        for detail in pair[0].get_input_details():
            values = _random(rng, detail["shape"], np.dtype(detail["dtype"]))
            for interpreter in pair:
                interpreter.set_tensor(detail["index"], values)
        for interpreter in pair:
            interpreter.invoke()
        details = [interpreter.get_tensor_details() for interpreter in pair]
        ids = {detail["index"] for side in details for detail in side}
        for tensor in ids:
            a, b = (_contents(interpreter, tensor) for interpreter in pair)
            seen.setdefault(tensor, []).append((a, b))
    held = [runs for runs in seen.values() if any(run != (None, None) for run in runs)]
    return Sameness(
        tensors=len(held),
        equal=sum(all(a == b for a, b in runs) for runs in held),
        varying=sum(len({a for a, _ in runs}) > 1 for runs in held),
    )


def _interpreter(model: bytes) -> Any:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    made.allocate_tensors()
    return made


def _random(rng: np.random.Generator, shape: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, tuple(shape), dtype, endpoint=True)
    return rng.uniform(-1, 1, tuple(shape)).astype(dtype)


def _contents(interpreter: Any, tensor: int) -> bytes | None:
    """Type, shape and bytes in one; None for a tensor that nothing uses."""
    try:
        array = np.asarray(interpreter.get_tensor(tensor))
    except ValueError:
        return None
    return f"{array.dtype}{array.shape}".encode() + array.tobytes()
