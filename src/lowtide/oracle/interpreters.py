"""What the real interpreters compute: the reference for every claim of "bit for bit the same".

Two engines: TensorFlow Lite Micro (package tflite-micro), which is what microcontrollers run, and
LiteRT's plain kernels (package ai-edge-litert, OpResolverType.BUILTIN_REF) for what TFLM lacks,
such as uint8 convolutions. Each call starts a process of its own, as both engines can crash on odd
models (see `lowtide.oracle.worker`); nothing is shared, so calls may run in parallel threads.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import LowtideError, MissingToolError, how_to_install
from lowtide.modes import EngineName
from lowtide.temporary import temporary_folder

Array = NDArray[Any]

_NAMES: Final[Mapping[EngineName, str]] = {
    "tflm": "TensorFlow Lite Micro",
    "litert": "LiteRT",
}
_PACKAGES: Final[Mapping[EngineName, str]] = {"tflm": "tflite-micro", "litert": "ai-edge-litert"}
WHEELS: Final[Mapping[EngineName, frozenset[tuple[str, str]]]] = {
    "tflm": frozenset({("Linux", "x86_64")}),
    "litert": frozenset(
        {("Linux", "x86_64"), ("Linux", "aarch64"), ("Windows", "AMD64"), ("Darwin", "arm64")}
    ),
}
"""Where an engine's package exists: (system, machine); the extra `verify` brings those that do."""
_REMEDY: Final = "check that the model runs in the interpreter named, outside lowtide"
_PERIOD: Final = 16
# Place in the period -> the sample of random_inputs that is taken there: least, greatest, zero, noise.
_JUMPS: Final[Mapping[int, int]] = {8: 1, 9: 2, 10: 3, 11: 0}
_LAST_LINES: Final = 4
_LINE_LENGTH: Final = 240


def engine_package(engine: EngineName) -> str:
    """The package that an engine is of, and its version: "tflite-micro 0.1"."""
    name = _PACKAGES[engine]
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:  # found without one, as in a build tree
        return name


class OracleError(LowtideError):
    """No reference engine could run the model."""

    exit_code = 1


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no single truth value to compare by
class Reference:
    """Tensors as `engine` computed them, read-only: per sample, tensor id -> array.

    `passed_over` says why TFLM did not, where it was asked first; else "".
    """

    engine: EngineName
    samples: tuple[Mapping[int, Array], ...]
    passed_over: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two references differ first; `index` counts elements in row-major order.

    `index` is -1 if the tensor as a whole differs: `left` and `right` then describe its type and
    size, or say that it is absent.
    """

    sample: int
    tensor: int
    index: int
    left: bool | int | float | complex | str
    right: bool | int | float | complex | str


@dataclass(frozen=True, slots=True)
class TflmArena:
    """Bytes of arena TFLM allocated: `head` for tensors and scratch, `tail` for what persists."""

    total: int
    head: int
    tail: int


class _FailedError(Exception):
    """One engine failed; `missing` if that is because it is not installed."""

    def __init__(self, engine: EngineName, cause: str, *, missing: bool = False) -> None:
        super().__init__(cause)
        self.engine = engine
        self.missing = missing

    @property
    def short(self) -> str:
        """The cause, in a few words."""
        verb = "is not installed" if self.missing else "cannot run this network"
        return f"{_NAMES[self.engine]} {verb}"


def reference_tensors(
    model: bytes,
    inputs: Sequence[Mapping[int, Array]],
    tensor_ids: Sequence[int],
    *,
    engine: Literal["auto", "tflm", "litert"] = "auto",
    fresh: Sequence[int] | None = None,
    timeout: float = 120.0,
) -> Reference:
    """Run `model` (the bytes of a .tflite file) on every sample and return the tensors asked for.

    `inputs` holds one mapping per sample: tensor id of each input of the main subgraph -> array of
    its shape and type. Each sample meets a fresh interpreter, with its variables reset; with `fresh`,
    only those of these numbers and the first do, and the others are run as a sequence, by the
    interpreter of the sample before.
    `tensor_ids` are ids in the main subgraph; what a tensor holds that no operator makes or reads
    is undefined, and LiteRT refuses to give it. "auto" takes TFLM, or LiteRT where TFLM cannot;
    naming "litert" for a model that TFLM is known not to run saves that attempt. `timeout` is in
    seconds, per engine.

    Raises OracleError if no engine could run the model, naming each one's cause, and
    MissingToolError if that is because no engine is installed.
    """
    engines: tuple[EngineName, ...] = ("tflm", "litert") if engine == "auto" else (engine,)
    failures: list[_FailedError] = []
    for name in engines:
        try:
            found = _reference(name, "tensors", model, inputs, tensor_ids, timeout, fresh)
            return replace(found, passed_over="; ".join(f.short for f in failures))
        except _FailedError as failure:
            failures.append(failure)
    raise _error(failures)


def tflm_outputs(
    model: bytes,
    inputs: Sequence[Mapping[int, Array]],
    timeout: float = 60.0,
    *,
    fresh: Sequence[int] | None = None,
) -> Reference:
    """The model's outputs, from TFLM run as on a device: with its offline memory plan, if it has one.

    `reference_tensors` leaves such a plan aside, as TFLM cannot follow one and preserve all tensors;
    use this to see that a plan does no harm. Arguments and errors as there.
    """
    try:
        return _reference("tflm", "outputs", model, inputs, (), timeout, fresh)
    except _FailedError as failure:
        raise _error([failure]) from None


def tflm_arena(model: bytes, timeout: float = 60.0) -> TflmArena:
    """The arena, in bytes, that TFLM allocates for `model`: its own figures, from its recorder.

    Measured on this host: `tail` holds C structures with pointers, which are larger here than on a
    32-bit microcontroller. `timeout` is in seconds.

    Raises OracleError if TFLM cannot run the model, MissingToolError if it is not installed.
    """
    with temporary_folder() as folder:
        request = {"task": "arena", "engine": "tflm"}
        try:
            printed = _work(folder, model, request, timeout)
        except _FailedError as failure:
            raise _error([failure]) from None
    found = dict(re.findall(r"Arena allocation (total|head|tail) (\d+) bytes", printed))
    if len(found) != 3:
        raise OracleError(
            "TensorFlow Lite Micro did not print its arena figures",
            "install a version of tflite-micro whose print_allocations() does",
        )
    return TflmArena(int(found["total"]), int(found["head"]), int(found["tail"]))


def random_inputs(
    shapes_dtypes: Sequence[tuple[int, tuple[int, ...], np.dtype[Any]]], samples: int, seed: int
) -> list[dict[int, Array]]:
    """Inputs for `reference_tensors`: for each (tensor id, shape, type) an array per sample.

    The same `seed` gives the same values. Sample 0 is random over the type's whole range (floats:
    from -1 to below 1); in 1, 2 and 3 every element is the type's least value (floats: -1), its
    greatest value (floats: 1) and zero; those after are random.
    """
    rng = np.random.default_rng(seed)
    return [
        {i: _values(rng, sample, shape, np.dtype(dtype)) for i, shape, dtype in shapes_dtypes}
        for sample in range(samples)
    ]


def walking_inputs(
    shapes_dtypes: Sequence[tuple[int, tuple[int, ...], np.dtype[Any]]], samples: int, seed: int
) -> list[dict[int, Array]]:
    """Inputs as of `random_inputs`, in an order to be run as a sequence by a network with state.

    Most follow one another in random walks, at most a sixteenth of the type's range apart in every
    element, since noise alone soon saturates a state. Of each sixteen, the first eight are a walk, then
    come least values, greatest, zeros and noise, and the last four are another walk.
    """
    rng = np.random.default_rng(seed)
    walks: dict[int, NDArray[np.float64]] = {}
    found = []
    for number in range(samples):
        place = number % _PERIOD
        sample = {}
        for i, shape, dtype in shapes_dtypes:
            if place in _JUMPS:
                sample[i] = _values(rng, _JUMPS[place], shape, np.dtype(dtype))
                continue
            if place in (0, 1 + max(_JUMPS)):
                walks[i] = rng.uniform(0.25, 0.75, shape)
            else:
                moved = np.abs(walks[i] + rng.uniform(-1 / 16, 1 / 16, shape))
                walks[i] = 1 - np.abs(1 - moved)  # thrown back from either end
            sample[i] = _at(walks[i], np.dtype(dtype))
        found.append(sample)
    return found


def first_difference(a: Reference, b: Reference) -> Difference | None:
    """The first element whose bytes differ, or None: samples in turn, tensors in the order of `a`.

    Bytes are compared, so that equal NaNs are equal and 0.0 differs from -0.0. Shapes may differ
    as long as the numbers of elements agree.

    Raises ValueError if the numbers of samples differ.
    """
    for sample, (left, right) in enumerate(zip(a.samples, b.samples, strict=True)):
        for tensor in [*left, *(i for i in right if i not in left)]:
            x, y = left.get(tensor), right.get(tensor)
            if x is None or y is None or x.dtype != y.dtype or x.size != y.size:
                return Difference(sample, tensor, -1, _description(x), _description(y))
            # Rows of bytes, one row per element.
            raw_x = np.frombuffer(x.tobytes(), np.uint8).reshape(x.size, x.itemsize)
            raw_y = np.frombuffer(y.tobytes(), np.uint8).reshape(y.size, y.itemsize)
            differing = np.flatnonzero((raw_x != raw_y).any(axis=1))
            if differing.size:
                index = int(differing[0])
                return Difference(
                    sample, tensor, index, x.reshape(-1)[index].item(), y.reshape(-1)[index].item()
                )
    return None


def _reference(
    engine: EngineName,
    task: Literal["tensors", "outputs"],
    model: bytes,
    inputs: Sequence[Mapping[int, Array]],
    ids: Sequence[int],
    timeout: float,
    fresh: Sequence[int] | None,
) -> Reference:
    """Have one engine compute tensors. Raises _FailedError with the cause."""
    request = {
        "task": task,
        "engine": engine,
        "tensors": [int(i) for i in ids],
        "samples": [[int(i) for i in sample] for sample in inputs],
        "fresh": list(range(len(inputs)) if fresh is None else fresh),
    }
    arrays: dict[str, Any] = {
        f"{n}_{i}": array for n, sample in enumerate(inputs) for i, array in sample.items()
    }
    with temporary_folder() as folder:
        np.savez(folder / "inputs.npz", **arrays)
        _work(folder, model, request, timeout)
        samples: list[dict[int, Array]] = [{} for _ in inputs]
        with np.load(folder / "outputs.npz", allow_pickle=False) as stored:
            for key in stored.files:  # in the order asked for
                sample, tensor = map(int, key.split("_"))
                array = stored[key]
                array.flags.writeable = False
                samples[sample][tensor] = array
    return Reference(engine, tuple(MappingProxyType(sample) for sample in samples))


def _work(folder: Path, model: bytes, request: Mapping[str, object], timeout: float) -> str:
    """Run the worker on a request; return what it printed. Raises _FailedError with the cause."""
    (folder / "model.tflite").write_bytes(model)
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    engine: EngineName = "tflm" if request["engine"] == "tflm" else "litert"
    name = _NAMES[engine]
    try:
        printed, code = start_worker(folder, timeout)
    except subprocess.TimeoutExpired:
        raise _FailedError(engine, f"{name} did not finish within {timeout:g} s") from None
    if code == 0:
        return printed
    report: dict[str, str] = {}
    if (folder / "error.json").exists():
        report = json.loads((folder / "error.json").read_text(encoding="utf-8"))
    if report.get("missing"):
        raise _FailedError(engine, f"{name} is not installed ({report['message']})", missing=True)
    what = "failed" if report else f"crashed ({_signal_name(code)})"
    lines = [*printed.splitlines(), *report.get("message", "").splitlines()]
    last = [line.strip()[:_LINE_LENGTH] for line in lines if line.strip()][-_LAST_LINES:]
    raise _FailedError(engine, f"{name} {what}" + (": " + " / ".join(last) if last else ""))


def start_worker(folder: Path, timeout: float) -> tuple[str, int]:
    """What a worker printed that was started on `folder`, and its exit code."""
    # -P: a file named like a module, in the folder the user works in, must not be imported.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lowtide.oracle.worker", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout, done.returncode


def _error(failures: Sequence[_FailedError]) -> LowtideError:
    """The error for the user, when every engine tried has failed."""
    cause = "; ".join(str(failure) for failure in failures)
    missing = [failure.engine for failure in failures if failure.missing]
    here = (platform.system(), platform.machine())
    exist = [engine for engine in missing if here in WHEELS[engine]]
    names = " or ".join(_NAMES[engine] for engine in exist or missing)
    install = f"install {names}: {how_to_install('verify')}"
    if not exist:
        install = (
            f"use another computer, such as Linux on x86_64: there is no package of {names} for "
            f"{' on '.join(here)}"
        )
    if len(missing) == len(failures):
        return MissingToolError(cause, install)
    return OracleError(cause, f"{_REMEDY}; or {install}" if missing else _REMEDY)


def _signal_name(code: int) -> str:
    """How a process ended, from its return code: minus the signal's number, or an exit code."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


def _values(
    rng: np.random.Generator, sample: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """One array of `random_inputs`."""
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    else:
        low, high = (0 if dtype.kind == "b" else -1), 1
    if 1 <= sample <= 3:
        return np.full(shape, (low, high, 0)[sample - 1], dtype)
    if dtype.kind in "iub":
        return rng.integers(low, high, shape, dtype, endpoint=True)
    values = (2 * rng.random(shape) - 1).astype(dtype)
    # The narrower type may have rounded a value up to 1.
    return np.where(values < 1, values, np.zeros((), dtype))


def _at(part: NDArray[np.float64], dtype: np.dtype[Any]) -> Array:
    """Values that lie so far up the type's range (floats: from -1 to 1), 0 for the least."""
    if dtype.kind not in "iu":
        return np.asarray(part >= 0.5 if dtype.kind == "b" else 2 * part - 1).astype(dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    # The greatest 64-bit integers are no doubles: a little less of the range is.
    values: Array = np.rint(low + np.minimum(part, 1 - 2.0**-20) * (high - low)).astype(dtype)
    return values


def _description(array: Array | None) -> str:
    """Type and shape, as in "int8[1, 4]"."""
    return "absent" if array is None else f"{array.dtype}{list(array.shape)}"
