"""Samples to calibrate with: arrays, images, sounds, or random numbers, as a network's inputs.

.npz, .npy, a folder of .npy, images or .wav  ->  per sample, tensor id of each input -> array
"""

from __future__ import annotations

import struct
import tokenize
import wave
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import MissingToolError, UsageError, how_to_install
from lowtide.ir import DType, Graph, Tensor

Array = NDArray[Any]
Sample = dict[int, Array]
_T = TypeVar("_T")

ARRAYS: Final = (".npz", ".npy")
"""Endings of files that are arrays of samples."""
_IMAGES: Final = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
DAMAGED: Final = (
    *(OSError, ValueError, EOFError, KeyError, SyntaxError, MemoryError, NotImplementedError),
    *(struct.error, tokenize.TokenError, wave.Error, zipfile.BadZipFile, zlib.error),
)
"""What libraries raise about files that are cut off, or claim more than they hold."""
_TYPES: Final[dict[DType, np.dtype[Any]]] = {
    DType.FLOAT32: np.dtype(np.float32),
    DType.INT32: np.dtype(np.int32),
    DType.INT64: np.dtype(np.int64),
    DType.INT8: np.dtype(np.int8),
    DType.UINT8: np.dtype(np.uint8),
    DType.INT16: np.dtype(np.int16),
    DType.BOOL: np.dtype(np.bool_),
}


@dataclass(frozen=True, slots=True)
class Dataset:
    """`samples` of a network's inputs, and in a few words what they are."""

    samples: tuple[Sample, ...] = field(repr=False)
    kind: str
    is_random: bool = False


def random_samples(graph: Graph, count: int, seed: int = 1) -> Dataset:
    """Noise, for trials alone: floats from -1 to 1; integers, which most often are indices, 0 and 1."""
    rng = np.random.default_rng(seed)

    def noise(tensor: Tensor) -> Array:
        dtype = _type(tensor)
        if dtype.kind == "f":
            return rng.uniform(-1, 1, tensor.shape).astype(dtype)
        return rng.integers(0, 2, tensor.shape).astype(dtype)

    samples = ({t: noise(graph.tensors[t]) for t in graph.inputs} for _ in range(count))
    return Dataset(tuple(samples), "random", is_random=True)


def load_samples(
    path: Path,
    graph: Graph,
    names: Sequence[str],
    *,
    most: int,
    image_range: tuple[float, float] = (0.0, 1.0),
) -> Dataset:
    """Samples for the inputs of `graph`, whose `names` arrays of a .npz file have, from `path`.

    Of more than `most`, so many are taken, evenly spread over files in the order of their names. Pixels
    are scaled to `image_range`, sounds to -1 to 1. Raises UsageError for what cannot be used,
    MissingToolError for images without Pillow.
    """
    if path.is_dir():
        return _folder(path, graph, most, image_range)
    try:
        if path.suffix.lower() in ARRAYS:
            arrays = load_arrays(path, graph, names)
            count = len(next(iter(arrays.values()), ()))
            samples = [
                {t: array[i].astype(_type(graph.tensors[t])) for t, array in arrays.items()}
                for i in _spread(range(count), most)
            ]
            return Dataset(tuple(samples), "arrays")
    except DAMAGED as error:
        raise _unreadable(path, error) from None
    raise UsageError(
        f"{path} {'is not a file of samples' if path.exists() else 'does not exist'}",
        "give a .npz or .npy file, or a folder of .npy files, images or .wav files",
    )


def load_arrays(path: Path, graph: Graph, names: Sequence[str]) -> dict[int, Array]:
    """The arrays of a .npz or .npy file for the inputs of `graph`, whose `names` those of a .npz have.

    Tensor id -> array of shape [N, ...], with the input's whole shape, and of the type that it is stored
    in. Raises UsageError for what cannot be used.
    """
    try:
        if path.suffix.lower() != ".npz":
            tensor = _only(graph, path)
            return {tensor.id: _shaped(np.load(path, allow_pickle=False), tensor, str(path))}
        with np.load(path, allow_pickle=False) as stored:
            if len(stored.files) == 1 and len(names) == 1:
                given = {names[0]: stored[stored.files[0]]}
            else:  # what else there is, such as labels, need not be read
                given = {name: stored[name] for name in names if name in stored.files}
            found = ", ".join(stored.files) or "none"
    except DAMAGED as error:
        raise _unreadable(path, error) from None
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(
            f"{path} has no array for the input {missing[0]!r}; it has {found}",
            f"name its arrays as the network names its inputs: {', '.join(names)}",
        )
    columns = {
        t: _shaped(given[name], graph.tensors[t], f"{name} of {path}")
        for name, t in zip(names, graph.inputs, strict=True)
    }
    if len({len(rows) for rows in columns.values()}) > 1:
        counts = ", ".join(f"{n} {len(c)}" for n, c in zip(names, columns.values(), strict=True))
        raise UsageError(
            f"{path} has different numbers of samples: {counts}",
            "store the same number for each input",
        )
    return columns


def _shaped(array: Array, tensor: Tensor, where: str) -> Array:
    """An array of samples, each of the tensor's shape; its batch of one may be left out."""
    shape = tensor.shape
    if array.shape[1:] not in (shape, shape[1:]) or not len(array):
        raise UsageError(
            f"{where} has shape {list(array.shape)}",
            f"give N samples of shape {list(shape)}: an array of shape [N, "
            f"{', '.join(map(str, shape[1:] if shape[:1] == (1,) else shape))}]",
        )
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{where} holds {array.dtype}, not numbers", "give an array of numbers")
    if array.dtype.kind == "f":
        finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
        if not finite.all():
            raise UsageError(
                f"sample {int(np.argmin(finite))} of {where} holds NaN or infinity",
                "give samples as the network will see them, without missing values",
            )
    return array.reshape(len(array), *shape)


def _folder(path: Path, graph: Graph, most: int, image_range: tuple[float, float]) -> Dataset:
    kinds: dict[str, Callable[[Path, Tensor], Array]] = {
        "arrays": _array,
        "images": lambda file, tensor: _image(file, tensor, image_range),
        "sounds": _sound,
    }
    endings = {"arrays": (".npy",), "images": _IMAGES, "sounds": (".wav",)}
    every = sorted(file for file in path.rglob("*") if file.is_file())
    found = {
        kind: files
        for kind, ends in endings.items()
        if (files := [file for file in every if file.suffix.lower() in ends])
    }
    if len(found) != 1:
        what = " and ".join(found) if found else "no samples"
        raise UsageError(
            f"the folder {path} has {what}",
            "give a folder with only one kind of files: .npy files, images or .wav files",
        )
    ((kind, files),) = found.items()
    tensor, read = _only(graph, path), kinds[kind]
    samples = []
    for file in _spread(files, most):
        try:
            samples.append({tensor.id: read(file, tensor)})
        except DAMAGED as error:
            raise _unreadable(file, error) from None
    return Dataset(tuple(samples), kind)


def _array(file: Path, tensor: Tensor) -> Array:
    array = np.load(file, allow_pickle=False)
    shaped: Array = _shaped(array[None], tensor, str(file))[0]
    return shaped.astype(_type(tensor))


def _image(file: Path, tensor: Tensor, image_range: tuple[float, float]) -> Array:
    """A picture in the size of the input, with its channels where this has them."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingToolError(
            f"Pillow, which reads images, is not installed ({error})",
            how_to_install("quantize"),
        ) from None
    one = len(tensor.shape) == 4 and tensor.shape[0] == 1
    shape: tuple[int, ...] = tensor.shape[1:] if one else ()
    first = len(shape) == 3 and shape[0] in (1, 3) and shape[2] not in (1, 3)
    if first:
        shape = (*shape[1:], shape[0])
    if len(shape) != 3 or shape[2] not in (1, 3):
        raise UsageError(
            f"{file} is an image, but the network's input has shape {list(tensor.shape)}",
            "give arrays: a .npz file, or a folder of .npy files",
        )
    try:
        with Image.open(file) as picture:
            scaled = picture.convert("L" if shape[2] == 1 else "RGB").resize((shape[1], shape[0]))
            pixels: Array = np.asarray(scaled, np.float32).reshape(shape)
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from None
    if tensor.dtype is DType.FLOAT32:
        low, high = image_range
        pixels = pixels / 255 * (high - low) + low
    if first:
        pixels = pixels.transpose(2, 0, 1)
    return pixels.reshape(tensor.shape).astype(_type(tensor))


def _sound(file: Path, tensor: Tensor) -> Array:
    """The first samples of a sound, from -1 to 1, and zeros behind it if it is too short."""
    count = tensor.elements
    if max(tensor.shape, default=1) != count:
        raise UsageError(
            f"{file} is a recording, but the network's input has shape {list(tensor.shape)}: it takes "
            "features, not sound",
            "give the features as arrays: a .npz file, or a folder of .npy files",
        )
    with wave.open(str(file)) as sound:
        if sound.getsampwidth() != 2:
            raise UsageError(
                f"{file} has {8 * sound.getsampwidth()} bits per sample",
                "convert it to 16-bit PCM",
            )
        raw = np.frombuffer(sound.readframes(count), "<i2")
        heard = raw.reshape(-1, sound.getnchannels()).mean(axis=1)
    full = np.zeros(count, np.float64)
    full[: len(heard)] = heard[:count]
    real = full / 32768 if tensor.dtype is DType.FLOAT32 else full
    return real.reshape(tensor.shape).astype(_type(tensor))


def _only(graph: Graph, path: Path) -> Tensor:
    if len(graph.inputs) == 1:
        return graph.tensors[graph.inputs[0]]
    raise UsageError(
        f"the network has {len(graph.inputs)} inputs, but {path} has samples for only one",
        "give a .npz file with an array for each",
    )


def _type(tensor: Tensor) -> np.dtype[Any]:
    if tensor.dtype in _TYPES:
        return _TYPES[tensor.dtype]
    raise UsageError(
        f"input {tensor.id} has type {tensor.dtype.name}, which samples cannot have",
        "change the input's type",
    )


def _spread(items: Sequence[_T], most: int) -> list[_T]:
    if len(items) <= most:
        return list(items)
    return [items[i * len(items) // most] for i in range(most)]


def _unreadable(path: Path, error: Exception) -> UsageError:
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    missing = isinstance(error, FileNotFoundError)
    content = "check that its content matches its file name extension"
    return UsageError(f"cannot read {path}: {said}", "check the path" if missing else content)
