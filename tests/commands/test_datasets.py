"""Samples from arrays, images and sounds, and what is said of those that cannot be used."""

from __future__ import annotations

import builtins
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lowtide.commands.datasets import load_samples, random_samples
from lowtide.errors import LowtideError, MissingToolError, UsageError
from lowtide.ir import DType, Graph, Op, Tensor


def network(*shapes: tuple[int, ...], dtype: DType = DType.FLOAT32) -> Graph:
    """A graph with inputs of these shapes."""
    tensors = tuple(Tensor(i, f"x{i}", shape, dtype) for i, shape in enumerate(shapes))
    ids = tuple(range(len(shapes)))
    return Graph("g", tensors, (Op(0, "RELU", ids[:1], ()),), ids, ())


def samples(path: Path, graph: Graph, most: int = 100) -> list[dict[int, object]]:
    names = [graph.tensors[t].name for t in graph.inputs]
    found = load_samples(path, graph, names, most=most)
    for sample in found.samples:
        for tensor, array in sample.items():
            assert array.shape == graph.tensors[tensor].shape
            assert array.dtype == np.dtype(graph.tensors[tensor].dtype.name.lower())
    return [{t: a.reshape(-1).tolist() for t, a in sample.items()} for sample in found.samples]


def test_one_array(tmp_path: Path) -> None:
    """Whatever its name, with the batch or without."""
    values = np.arange(12.0).reshape(3, 4)
    want = [{0: row.tolist()} for row in values]
    np.savez(tmp_path / "a.npz", whatever=values)
    np.savez(tmp_path / "b.npz", values[:, None])
    np.save(tmp_path / "c.npy", values.astype(np.int64))
    for name in ("a.npz", "b.npz", "c.npy"):
        assert samples(tmp_path / name, network((1, 4))) == want
    assert samples(tmp_path / "a.npz", network((1, 4)), 2) == [want[0], want[1]]


def test_arrays_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x1=np.zeros((2, 3)), x0=np.ones((2, 2)))
    found = samples(tmp_path / "a.npz", network((1, 2), (1, 3)))
    assert found == [{0: [1, 1], 1: [0, 0, 0]}] * 2


def test_a_folder_of_arrays(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "a", "c")):
        np.save(tmp_path / f"{name}.npy", np.full((2,), number))
    assert samples(tmp_path, network((1, 2))) == [{0: [1, 1]}, {0: [0, 0]}, {0: [2, 2]}]


def test_images(tmp_path: Path) -> None:
    """In the input's size and channels, in folders of folders; pixels in the range asked for."""
    (tmp_path / "cats").mkdir()
    Image.new("RGB", (9, 5), (255, 0, 51)).save(tmp_path / "cats" / "one.png")
    rgb = load_samples(tmp_path, network((1, 2, 2, 3)), ["x"], most=9)
    assert rgb.kind == "images"
    assert rgb.samples[0][0][0, 0, 0].tolist() == pytest.approx([1, 0, 0.2])
    wide = load_samples(tmp_path, network((1, 2, 2, 3)), ["x"], most=9, image_range=(-1, 1))
    assert wide.samples[0][0][0, 0, 0].tolist() == pytest.approx([1, -1, -0.6])
    first = load_samples(tmp_path, network((1, 3, 4, 4)), ["x"], most=9)
    assert first.samples[0][0][0, :, 0, 0].tolist() == pytest.approx([1, 0, 0.2])
    grey = load_samples(tmp_path, network((1, 2, 2, 1), dtype=DType.UINT8), ["x"], most=9)
    assert grey.samples[0][0].reshape(-1).tolist() == [82] * 4


def sound(path: Path, values: list[int], *, channels: int = 1, width: int = 2) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(16000)
        file.writeframes(np.array(values, f"<i{width}").tobytes())


def test_sounds(tmp_path: Path) -> None:
    """Cut, or with zeros behind; channels are averaged."""
    sound(tmp_path / "a.wav", [16384, -32768, 1, 2, 3])
    sound(tmp_path / "b.wav", [16384, 0, 8192, 8192], channels=2)
    assert samples(tmp_path, network((1, 3))) == [
        {0: [0.5, -1, 1 / 32768]},
        {0: [0.25, 0.25, 0]},
    ]


def test_noise() -> None:
    found = random_samples(network((1, 50)), 3)
    assert found.is_random
    assert len(found.samples) == 3
    values = np.stack([sample[0] for sample in found.samples])
    assert -1 <= values.min() < -0.8 < 0.8 < values.max() < 1
    again = random_samples(network((1, 50)), 3)
    assert all((a[0] == b[0]).all() for a, b in zip(found.samples, again.samples, strict=True))


def refusal(path: Path, graph: Graph, names: tuple[str, ...] = ("x0",)) -> str:
    with pytest.raises(UsageError) as caught:
        load_samples(path, graph, names, most=9)
    return str(caught.value).replace(str(path), "PATH")


def test_what_cannot_be_used(tmp_path: Path) -> None:
    one, two = network((1, 4)), network((1, 4), (1, 2))
    assert refusal(tmp_path / "no.npz", one) == (
        "cannot read PATH: No such file or directory\n  remedy: check the path"
    )
    kinds = "give a .npz or .npy file, or a folder of .npy files, images or .wav files"
    assert refusal(tmp_path / "no", one) == f"PATH does not exist\n  remedy: {kinds}"
    (tmp_path / "x.csv").write_text("1,2")
    assert refusal(tmp_path / "x.csv", one) == f"PATH is not a file of samples\n  remedy: {kinds}"
    (tmp_path / "x.npz").write_text("1,2")
    unreadable = refusal(tmp_path / "x.npz", one)
    assert unreadable.startswith("cannot read PATH: ")
    assert unreadable.endswith("  remedy: check that its content matches its file name extension")
    np.savez(tmp_path / "a.npz", x0=np.zeros((2, 5)))
    assert refusal(tmp_path / "a.npz", one) == (
        "x0 of PATH has shape [2, 5]\n"
        "  remedy: give N samples of shape [1, 4]: an array of shape [N, 4]"
    )
    assert refusal(tmp_path / "a.npz", two, ("x0", "x1")) == (
        "PATH has no array for the input 'x1'; it has x0\n"
        "  remedy: name its arrays as the network names its inputs: x0, x1"
    )
    np.savez(tmp_path / "b.npz", x0=np.zeros((2, 4)), x1=np.zeros((3, 2)))
    assert refusal(tmp_path / "b.npz", two, ("x0", "x1")) == (
        "PATH has different numbers of samples: x0 2, x1 3\n"
        "  remedy: store the same number for each input"
    )
    np.save(tmp_path / "c.npy", np.zeros((2, 4)))
    assert refusal(tmp_path / "c.npy", two) == (
        "the network has 2 inputs, but PATH has samples for only one\n"
        "  remedy: give a .npz file with an array for each"
    )


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    kinds = "give a folder with only one kind of files: .npy files, images or .wav files"
    assert (
        refusal(tmp_path, network((1, 4))) == f"the folder PATH has no samples\n  remedy: {kinds}"
    )
    sound(tmp_path / "a.wav", [1, 2])
    assert refusal(tmp_path, network((1, 4, 4, 1))).startswith(
        "PATH/a.wav is a recording, but the network's input has shape [1, 4, 4, 1]: it takes features, "
        "not sound"
    )
    sound(tmp_path / "a.wav", [1, 2], width=1)
    assert refusal(tmp_path, network((1, 4))).startswith("PATH/a.wav has 8 bits per sample")
    np.save(tmp_path / "a.npy", np.zeros(4))
    assert refusal(tmp_path, network((1, 4))).startswith("the folder PATH has arrays and sounds")
    (tmp_path / "a.wav").unlink()
    (tmp_path / "a.npy").unlink()
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    assert refusal(tmp_path, network((1, 4))).startswith(
        "PATH/a.png is an image, but the network's input has shape [1, 4]"
    )
    (tmp_path / "a.png").write_bytes(b"none")
    assert refusal(tmp_path, network((1, 2, 2, 3))).startswith("cannot read PATH/a.png: ")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", ["a.npy", "a.npz", ""])
def test_samples_of_no_numbers(tmp_path: Path, bad: float, name: str) -> None:
    values = np.zeros((3, 4), np.float32)
    values[1, 2] = bad
    if name:
        (np.savez if name.endswith("z") else np.save)(tmp_path / name, values)
        number, where = 1, f"x0 of {tmp_path / name}" if name.endswith("z") else tmp_path / name
    else:
        np.save(tmp_path / "one.npy", values[1])
        number, where = 0, tmp_path / "one.npy"
    with pytest.raises(UsageError) as caught:
        samples(tmp_path / name, network((1, 4)))
    assert str(caught.value) == (
        f"sample {number} of {where} holds NaN or infinity\n"
        "  remedy: give samples as the network will see them, without missing values"
    )


def test_arrays_of_texts(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([["a", "b"]]))
    with pytest.raises(UsageError, match="holds <U1, not numbers"):
        samples(tmp_path / "a.npy", network((1, 2)))


def test_files_cut_off_anywhere(tmp_path: Path) -> None:
    """And such as claim more than they hold."""
    np.savez_compressed(tmp_path / "a.npz", x0=np.arange(4000.0).reshape(-1, 4))
    np.save(tmp_path / "a.npy", np.arange(40.0).reshape(-1, 4))
    huge = (tmp_path / "a.npy").read_bytes().replace(b"(10, 4)", b"(99999999999, 4)"[:15])
    for name in ("a.npz", "a.npy"):
        whole = (tmp_path / name).read_bytes()
        for length in (0, 3, 10, 60, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
            bad = tmp_path / f"cut{Path(name).suffix}"
            bad.write_bytes(whole[:length])
            with pytest.raises(UsageError) as caught:
                samples(bad, network((1, 4)))
            assert caught.value.cause.startswith(f"cannot read {bad}: ")
    (tmp_path / "huge.npy").write_bytes(huge)
    with pytest.raises(UsageError):
        samples(tmp_path / "huge.npy", network((1, 4)))


def test_images_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    real = builtins.__import__

    def without(name: str, *more: object, **named: object) -> object:
        if name == "PIL":
            raise ImportError("No module named 'PIL'")
        return real(name, *more, **named)  # type: ignore[arg-type]  # whatever __import__ takes

    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingToolError) as caught:
        load_samples(tmp_path, network((1, 2, 2, 3)), ["x"], most=9)
    assert str(caught.value) == (
        "Pillow, which reads images, is not installed (No module named 'PIL')\n"
        '  remedy: run `pip install ".[quantize]"` in your checkout of lowtide'
    )


def test_types_that_have_no_samples() -> None:
    with pytest.raises(LowtideError, match="input 0 has type COMPLEX64"):
        random_samples(network((1, 4), dtype=DType.COMPLEX64), 1)
