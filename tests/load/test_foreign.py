"""C arrays are read like the files they hold; files of other frameworks are named, with what to do."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from lowtide.commands.compiling import compile_model
from lowtide.errors import ModelError
from lowtide.tflite.read import load
from lowtide.zoo import build


def network() -> bytes:
    return build("figure1")


def xxd(data: bytes) -> str:
    """As `xxd -i` writes it."""
    lines = [
        "  " + ", ".join(f"0x{byte:02x}" for byte in data[i : i + 12])
        for i in range(0, len(data), 12)
    ]
    body = ",\n".join(lines)
    return (
        f"unsigned char net_tflite[] = {{\n{body}\n}};\nunsigned int net_tflite_len = {len(data)};"
    )


def tflm(data: bytes) -> str:
    """As TFLM's generator writes it."""
    body = ",".join(f"0x{byte:x}" for byte in data)
    return (
        '#include <cstdint>\n\n#include "net_model_data.h"\n\n// = {0x1, 0x2}\n'
        f"const unsigned int g_net_model_data_size = {len(data)};\n"
        f"alignas(16) const unsigned char g_net_model_data[] = {{{body},}};\n"
    )


def decimals(data: bytes) -> str:
    """Numbers in C's other bases, beside other arrays."""
    body = ", ".join(str(byte) if i % 2 else f"0{byte:o}u" for i, byte in enumerate(data))
    others = "static const int sizes[] = {1, 300}; /* = {9} */"
    return f"{others}\nstatic const uint8_t net[] = {{{body}}};"


@pytest.mark.parametrize("written", [xxd, tflm, decimals])
@pytest.mark.parametrize("name", ["net.cc", "net.h", "net.C"])
def test_arrays(tmp_path: Path, name: str, written: object) -> None:
    assert callable(written)
    (tmp_path / name).write_text(written(network()))
    model = load(tmp_path / name)
    assert model.source == network()
    assert model.path == str(tmp_path / name)
    assert compile_model(model).name == "net"


def cause_of(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        load(path)
    return caught.value


def test_sources_without_one_array(tmp_path: Path) -> None:
    path = tmp_path / "net.cc"
    path.write_text("int x[] = {1, 2, 3};")
    error = cause_of(path)
    assert error.cause == f"{path} holds no C array with the bytes of a .tflite file"
    assert error.remedy == (
        "give a source with one such array, as `xxd -i MODEL.tflite` writes it, or the .tflite file"
    )
    path.write_text(xxd(network()) + xxd(network()).replace("net_", "other_"))
    assert cause_of(path).cause == f"{path} holds 2 C arrays with the bytes of a .tflite file"


def zipped(names: Sequence[str]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return memory.getvalue()


PYTORCH = (
    "in Python, `litert_torch.convert(model.eval(), sample_inputs).export('model.tflite')` makes a "
    ".tflite file of the module (package litert-torch)"
)


def tensorflow(converter: str) -> str:
    code = f"import tensorflow as tf; open('model.tflite', 'wb').write({converter}.convert())"
    return f'`python -c "{code}"` makes a .tflite file of it'


@pytest.mark.parametrize(
    ("name", "data", "what", "remedy"),
    [
        ("net.onnx", b"\x08\x07\x12\x07pytorch", "an ONNX file", "onnx"),
        ("net.bin", b"\x08\x07\x12\x07pytorch", "an ONNX file", "onnx"),
        ("net.pt", zipped(["net/data.pkl", "net/version"]), "a PyTorch file", PYTORCH),
        ("net.pt2", zipped(["archive_format", "models/x.json"]), "a PyTorch file", PYTORCH),
        ("old.pth", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a PyTorch file", PYTORCH),
        ("net.pte", b"\x10\0\0\0ET12....", "an ExecuTorch file", PYTORCH),
        ("net.h5", b"\x89HDF\r\n\x1a\n...", "a Keras (HDF5) file", "keras"),
        ("net.keras", zipped(["config.json", "model.weights.h5"]), "a Keras file", "keras"),
        ("saved_model.pb", b"\x08\x01....", "part of a TensorFlow SavedModel", "saved"),
    ],
)
def test_formats_of_others(tmp_path: Path, name: str, data: bytes, what: str, remedy: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    keras = f"tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model('{path}'))"
    remedies = {
        "onnx": f"`onnx2tf -i {path} -o FOLDER` writes .tflite files",
        "keras": tensorflow(keras),
        "saved": tensorflow(f"tf.lite.TFLiteConverter.from_saved_model('{tmp_path}')"),
    }
    error = cause_of(path)
    assert error.cause == f"{path} is {what}, not a .tflite file"
    assert error.remedy == remedies.get(remedy, remedy)


def test_saved_model_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    error = cause_of(tmp_path)
    assert error.cause == f"{tmp_path} is a TensorFlow SavedModel, not a .tflite file"
    wanted = tensorflow(f"tf.lite.TFLiteConverter.from_saved_model('{tmp_path}')")
    assert error.remedy == wanted


def test_other_archives_are_no_models(tmp_path: Path) -> None:
    for data in (zipped(["a.txt"]), b"PK\x03\x04broken"):
        (tmp_path / "net.zip").write_bytes(data)
        assert "is not a .tflite file (no TFL3 identifier)" in cause_of(tmp_path / "net.zip").cause
