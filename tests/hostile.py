"""Files that were damaged or made to do harm, and everything that is done to each of them.

Three kinds: networks of which the bytes of the file were changed; sound files that mean something else
(`mutants.py`); and networks whose sizes agree with one another and are absurd.
"""

from __future__ import annotations

import resource
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

import mutants
from lowtide.commands.analysis import analyze
from lowtide.commands.compiling import compile_model
from lowtide.commands.estimating import estimate
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.commands.simplifying import simplify_model
from lowtide.errors import FaultError, LowtideError
from lowtide.ir import Model
from lowtide.tflite.read import parse
from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec
from lowtide.zoo.writer import write

_EFFORT: Final = 0.01
_EXTREMES: Final = (0, 1, -1, 2**31 - 1, -(2**31), 2**16, 255, 256, 1 << 20, 1 << 24, -2, 4)
_MODES: Final = (
    Options(effort=_EFFORT),
    Options(schedule="operators", effort=_EFFORT),
    Options(input_mode="streamed", output_mode="streamed", effort=_EFFORT),
    Options(input_mode="const", effort=_EFFORT),
    Options(max_overhead=2.0, effort=_EFFORT),
)
_ONE = np.ones(1, np.float32)


def damaged(seed: int) -> bytes:
    """The file number `seed`: a mutant, every second one with other bytes here and there as well."""
    source = bytearray(mutants.mutant(seed))
    rng = Random(f"damaged {seed}")
    for _ in range(seed % 2 * rng.choice((1, 1, 2, 4))):
        at = rng.randrange(8, len(source) - 4) // 4 * 4
        (value,) = struct.unpack_from("<i", source, at)
        if rng.random() < 0.5:
            value = rng.choice(_EXTREMES)
        else:
            value = (value + rng.choice((-1, 1, 2, 100))) % 2**32
        struct.pack_into("<I", source, at, value % 2**32)
    return bytes(source)


def answer(source: bytes, number: int) -> list[int]:
    """The exit codes of what is done to a file: 0 where it is done, else that of the refusal.

    Which stages are tried, and how, depends on `number`. A fault of lowtide's own goes through.
    """
    found: list[int] = []

    def ended(what: Callable[[], object]) -> bool:
        try:
            what()
        except FaultError:
            raise
        except LowtideError as error:
            assert error.exit_code in (1, 3), error
            cause, remedy = str(error).split("\n  remedy: ")
            assert cause.isprintable()
            assert remedy.isprintable()
            assert len(cause) + len(remedy) < 2000
            found.append(error.exit_code)
            return False
        found.append(0)
        return True

    loaded: list[Model] = []
    if ended(lambda: loaded.append(parse(source, path="hostile.tflite"))):
        for stage in _stages(loaded[0], number):
            ended(stage)
    return found


def _stages(model: Model, number: int) -> Iterator[Callable[[], object]]:
    yield lambda: analyze(model, effort=_EFFORT).savings
    yield lambda: compile_model(model, _MODES[number % len(_MODES)])
    if number % 4 == 0:
        yield lambda: simplify_model(model, check=False, reordered=number % 8 == 0, effort=_EFFORT)
    if number % 4 == 1:
        yield lambda: estimate(model, effort=_EFFORT, simplify=number % 8 == 1)
    if number % 4 == 2:
        yield lambda: planned_model(model, _MODES[0])


@contextmanager
def within(more: int) -> Iterator[None]:
    """No more memory than this process has now, and `more` bytes: else MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _tensor(name: str, shape: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(name, shape, "INT8", _ONE)


def _numbers(name: str, values: object) -> TensorSpec:
    data = np.array(values, np.int32)
    return TensorSpec(name, data.shape, "INT32", None, data=data)


def absurd(kind: str, shape: tuple[int, ...]) -> bytes:
    """A sound network of one operator, `kind`, whose input has an absurd `shape` of four dimensions."""
    x = _tensor("x", shape)
    rank = len(shape)
    flat = (int(np.prod(shape, dtype=np.int64)),)
    twice = (shape[0], 2 * shape[1], *shape[2:])
    window: dict[str, Option] = {
        "stride_w": 1,
        "stride_h": 1,
        "filter_width": 1,
        "filter_height": 1,
        "padding": 1,
    }
    few = TensorSpec(
        "w", (3, 1, 1, shape[3]), "INT8", _ONE, data=np.ones((3, 1, 1, shape[3]), np.int8)
    )
    made: dict[str, tuple[tuple[TensorSpec, ...], tuple[int, ...], str, dict[str, Option]]] = {
        "ABS": ((), shape, "AbsOptions", {}),
        "ADD": ((x,), shape, "AddOptions", {}),
        "SOFTMAX": ((), shape, "SoftmaxOptions", {"beta": 1.0}),
        "RESHAPE": ((_numbers("s", flat),), flat, "ReshapeOptions", {}),
        "TRANSPOSE": ((_numbers("p", range(rank)[::-1]),), shape[::-1], "TransposeOptions", {}),
        "REVERSE_V2": ((_numbers("a", [1]),), shape, "ReverseV2Options", {}),
        "CONCATENATION": ((x,), twice, "ConcatenationOptions", {"axis": 1}),
        "TILE": ((_numbers("t", [1, 2, 1, 1]),), twice, "TileOptions", {}),
        "MEAN": (
            (_numbers("a", [1, 2]),),
            (shape[0], 1, 1, shape[3]),
            "ReducerOptions",
            {"keep_dims": True},
        ),
        "PAD": (
            (_numbers("p", [[0, 0], [1, 0], [0, 0], [0, 0]]),),
            (shape[0], shape[1] + 1, *shape[2:]),
            "PadOptions",
            {},
        ),
        "MAX_POOL_2D": ((), shape, "Pool2DOptions", dict(window)),
        "CONV_2D": (
            (few, _numbers("b", [0, 0, 0])),
            (*shape[:3], 3),
            "Conv2DOptions",
            {
                "stride_w": 1,
                "stride_h": 1,
                "dilation_w_factor": 1,
                "dilation_h_factor": 1,
                "padding": 1,
            },
        ),
    }
    others, out, options_type, options = made[kind]
    tensors = (x, *(t for t in others if t is not x), _tensor("y", out))
    inputs = (0, *(0 if t is x else 1 + [o for o in others if o is not x].index(t) for t in others))
    op = OpSpec(kind, 1, inputs, (len(tensors) - 1,), options_type, options)
    return write(NetSpec("absurd", tensors, (op,), (0,), (len(tensors) - 1,)))


KINDS: Final = (
    *("ABS", "ADD", "SOFTMAX", "RESHAPE", "TRANSPOSE", "REVERSE_V2", "CONCATENATION", "TILE"),
    *("MEAN", "PAD", "MAX_POOL_2D", "CONV_2D"),
)
SHAPES: Final = (
    *((1, 1 << 25, 1, 1), (1, 1, 1 << 25, 1), (1, 1 << 10, 1 << 14, 2), (1 << 14, 1 << 11, 1, 1)),
    *((1, 65535, 512, 1), (1, 65536, 2, 3), (1, 2, 1 << 23, 2)),
)
