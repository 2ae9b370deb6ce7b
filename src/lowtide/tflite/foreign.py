"""Files that are no .tflite file: C arrays that hold one, and formats of others, by their first bytes.

Why here: a model in a firmware project is a C array, and what a training framework saves is often given
by mistake; either is worth more than "not a .tflite file".
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from pathlib import Path
from typing import Final

from lowtide.errors import ModelError
from lowtide.sizes import MOST_FILE

SUFFIXES: Final = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inc")
"""Of C and C++ sources."""

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ARRAY = re.compile(r"=\s*\{([^{}]*)\}", re.DOTALL)
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)[uU]?")


def contents(path: Path, most: int = MOST_FILE) -> bytes:
    """The .tflite file at `path`, or in a C array in the source at `path`; else the file as it is.

    Raises ModelError for a source that holds no such array, or several, for a file of more than `most`
    bytes, a device, and for folders and files of other frameworks; OSError and ValueError if it cannot
    be read.
    """
    if path.is_dir() and (path / "saved_model.pb").exists():
        raise _is(path, "a TensorFlow SavedModel", _tensorflow("from_saved_model", str(path)))
    source = _read(path, most)
    if path.suffix.lower() in SUFFIXES and source[4:8] != b"TFL3":
        return _of_array(path, source)
    _recognise(path, source)
    return source


def _read(path: Path, most: int) -> bytes:
    """All of a file or a pipe, if that is no more than `most` bytes."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            raise ModelError(f"{path} is a device, not a file", "pass a .tflite file")
        source = b"" if status.st_size > most else file.read(most + 1)
    if status.st_size > most or len(source) > most:
        size = f"{status.st_size:,} bytes, more" if stat.S_ISREG(status.st_mode) else "more bytes"
        raise ModelError(
            f"{path} has {size} than the limit of {most:,}",
            "check that it is the model; to read a larger one, raise the limit, such as --max-file 4G",
        )
    return source


def _of_array(path: Path, source: bytes) -> bytes:
    text = _COMMENT.sub(" ", source.decode("utf-8", "replace"))
    found = [data for data in map(_bytes, _ARRAY.findall(text)) if data[4:8] == b"TFL3"]
    if len(found) != 1:
        what = "no C array" if not found else f"{len(found)} C arrays"
        raise ModelError(
            f"{path} holds {what} with the bytes of a .tflite file",
            "give a source with one such array, as `xxd -i MODEL.tflite` writes it, or the .tflite file",
        )
    return found[0]


def _bytes(initialiser: str) -> bytes:
    """The numbers of an initialiser if they are bytes; else nothing."""
    texts = initialiser.replace(",", " ").split()
    if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
        return b""
    numbers = [_value(text.rstrip("uU")) for text in texts]
    return bytes(numbers) if max(numbers) < 256 else b""


def _value(text: str) -> int:
    octal = len(text) > 1 and text[0] == "0" and text[1] not in "xX"
    return int(text, 8) if octal else int(text, 0)


def _recognise(path: Path, source: bytes) -> None:
    """Raises ModelError if the file is one of another framework."""
    if source[4:8] == b"TFL3":
        return
    if path.suffix.lower() == ".onnx" or _is_onnx(source):
        raise _is(path, "an ONNX file", f"`onnx2tf -i {path} -o FOLDER` writes .tflite files")
    if source[4:6] == b"ET" and source[6:8].isdigit():
        raise _is(path, "an ExecuTorch file", _PYTORCH)
    if source.startswith(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"):
        raise _is(path, "a PyTorch file", _PYTORCH)
    if source.startswith(b"\x89HDF\r\n\x1a\n"):
        raise _is(path, "a Keras (HDF5) file", _keras(path))
    if path.name == "saved_model.pb":
        folder = str(path.parent)
        raise _is(path, "part of a TensorFlow SavedModel", _tensorflow("from_saved_model", folder))
    if source.startswith(b"PK\x03\x04"):
        names = _names(source)
        if "config.json" in names and "model.weights.h5" in names:
            raise _is(path, "a Keras file", _keras(path))
        if any(name.endswith(("data.pkl", "archive_format")) for name in names):
            raise _is(path, "a PyTorch file", _PYTORCH)


def _is_onnx(source: bytes) -> bool:
    """A protocol buffer of a ModelProto: its version, then its producer's name."""
    return len(source) > 8 and source[0] == 0x08 and source[1] < 32 and source[2] == 0x12


def _names(source: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(source)) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return []


def _is(path: Path, what: str, remedy: str) -> ModelError:
    return ModelError(f"{path} is {what}, not a .tflite file", remedy)


_PYTORCH = (
    "in Python, `litert_torch.convert(model.eval(), sample_inputs).export('model.tflite')` makes a "
    ".tflite file of the module (package litert-torch)"
)


def _keras(path: Path) -> str:
    model = f"tf.keras.models.load_model('{path}')"
    return _converted(f"tf.lite.TFLiteConverter.from_keras_model({model})")


def _tensorflow(maker: str, path: str) -> str:
    return _converted(f"tf.lite.TFLiteConverter.{maker}('{path}')")


def _converted(converter: str) -> str:
    code = f"import tensorflow as tf; open('model.tflite', 'wb').write({converter}.convert())"
    return f'`python -c "{code}"` makes a .tflite file of it'
