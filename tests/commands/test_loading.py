"""Calling a loaded program: what it takes and gives, its messages, and how it ends."""

from __future__ import annotations

import copy
import gc
import pickle
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from numpy.typing import NDArray

import lowtide
from lowtide.commands.compiling import compile_model
from lowtide.commands.loading import End, Program
from lowtide.commands.options import Options
from lowtide.errors import MissingToolError, ModelError, UsageError
from lowtide.machines import finding
from lowtide.tflite.read import parse
from networks import compiled
from schema_models import Net

Array = NDArray[Any]


def _two_ends() -> Any:
    """Two inputs of int8, and as outputs both joined, and the first input itself."""
    net = Net(np.int8, scale=0.5, zero=3)
    first, second = net.input((1, 4)), net.input((1, 4))
    options = schema.ConcatenationOptionsT(axis=1)
    net.op("CONCATENATION", [first, second], (1, 8), options=options)
    net.outputs.append(first)
    return parse(net.build())


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    """figure1: one input, one output, both int8."""
    with compiled("figure1").load() as made:
        yield made


@pytest.fixture(scope="module")
def images(program: Program) -> Array:
    rng = np.random.default_rng(3)
    return rng.integers(-128, 128, (40, *program.inputs[0].shape), dtype=np.int8)


def test_one_and_many(program: Program, images: Array) -> None:
    one = program(images[3])
    assert one.shape == program.outputs[0].shape
    assert one.dtype == np.int8
    many = program.many(images)
    assert many.shape == (40, *one.shape)
    assert np.array_equal(many[3], one)
    assert np.array_equal(program.many(images[:, 0]), many)  # a batch of one left out
    assert np.array_equal(program(images[3].astype(np.int64)), one)
    assert np.array_equal(program(images[3].tolist()), one)
    assert np.array_equal(program((images[3],)), one)
    assert np.array_equal(program({program.inputs[0].name: images[3]}), one)
    assert np.array_equal(program(np.asfortranarray(images[3])), one)
    assert program.many(images[:0]).shape == (0, *one.shape)


def test_real_numbers_go_by_the_scales(program: Program, images: Array) -> None:
    (given,), (made,) = program.inputs, program.outputs
    real = given.real(images)
    assert real.dtype == np.float32
    assert np.array_equal(given.stored(real), images)
    wanted = made.real(program.many(images))
    assert np.array_equal(program.real_many(real), wanted)
    assert np.array_equal(program.real(real[0]), wanted[0])


def test_numbers_are_rounded_as_the_kernels_do() -> None:
    end = End("x", (5,), np.dtype(np.int8), 0.5, 3)
    real = np.array([0.25, -0.25, 0.2, 1e9, -np.inf])
    assert end.stored(real).tolist() == [4, 2, 3, 127, -128]
    assert end.real(np.array([3, 5], np.int8)).tolist() == [0, 1]
    with pytest.raises(UsageError, match="input 'x' contains NaN\n  remedy: give numbers"):
        end.stored(np.array([np.nan]))
    plain = End("y", (2,), np.dtype(np.int32))
    assert plain.stored(np.array([4, 5])).tolist() == [4, 5]


@pytest.mark.parametrize("sanitize", [False, True])
def test_several_inputs_and_outputs(sanitize: bool) -> None:
    with compile_model(_two_ends()).load(sanitize=sanitize) as program:
        first, second = np.arange(4, dtype=np.int8)[None], np.full((1, 4), -7, np.int8)
        names = [end.name for end in program.inputs]
        for given in ((first, second), [first, second], {names[0]: first, names[1]: second}):
            joined, same = program(given)
            assert joined.tolist() == [[0, 1, 2, 3, -7, -7, -7, -7]]
            assert same.tolist() == first.tolist()
        joined, same = program.many((np.stack([first] * 40), np.stack([second] * 40)))
        assert joined.shape == (40, 1, 8)
        with pytest.raises(
            UsageError, match=r"inputs have different numbers of samples: .* 1, .* 2"
        ):
            program.many((first[None], np.stack([second] * 2)))
        with pytest.raises(
            UsageError, match=r"1 input given to a network of 2\n.*a mapping by name"
        ):
            program((first,))
        with pytest.raises(
            UsageError, match=f"inputs are named b\n  remedy: name them {names[0]}, "
        ):
            program({"b": first})


@pytest.mark.parametrize(
    ("change", "cause", "remedy"),
    [
        (
            lambda x: x.astype(np.float32),
            "is float32, but the program takes int8",
            r"give real numbers to .real\(\), which quantises them, or the network's integers",
        ),
        (
            lambda x: x[0],
            r"has shape \[\d+",
            r"give an array of shape \[1, .*, or many to .many\(\)",
        ),
        (lambda x: x + np.int16(300), "has values from 172 to 427", "give int8: -128 to 127"),
        (lambda x: x + 1j, "is not an array of numbers", "give an array of int8"),
        (lambda _: "text", "is not an array of numbers", "give an array of int8"),
        (lambda _: [[1], [1, 2]], "is not an array of numbers", "give an array of int8"),
    ],
)
def test_what_does_not_fit(
    program: Program, images: Array, change: Any, cause: str, remedy: str
) -> None:
    wide = images[0].copy()
    wide.flat[0], wide.flat[1] = -128, 127
    with pytest.raises(UsageError, match=f"input '.*' {cause}.*\n  remedy: {remedy}"):
        program(change(wide))


def test_many_of_the_wrong_shape(program: Program, images: Array) -> None:
    with pytest.raises(UsageError, match=r"give N samples: an array of shape \[N, 1, "):
        program.many(images[0, 0])
    with pytest.raises(UsageError, match=r"give N samples: an array of shape \[N, 1, "):
        program.many(3)


def test_programs_are_independent(program: Program, images: Array) -> None:
    wanted = program.many(images)
    others = [compiled("figure1").load(), compiled("branchy-cell").load()]
    odd = np.zeros((4, *others[1].inputs[0].shape), np.int8)
    alone = others[1].many(odd)
    found: dict[int, Any] = {}

    def call(number: int, of: Program, given: Array) -> None:
        found[number] = of.many(given)

    threads = [
        threading.Thread(target=call, args=(number, *each))
        for number, each in enumerate(
            [(program, images), (program, images), (others[0], images), (others[1], odd)]
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[n], wanted) for n in range(3))
    assert np.array_equal(found[3], alone)


@pytest.mark.parametrize("sanitize", [False, True])
def test_how_it_ends(sanitize: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = compiled("figure1").load(sanitize=sanitize)
    given = np.zeros(program.inputs[0].shape, np.int8)
    wanted = program(given)
    state = "sanitized" if sanitize else "loaded"
    assert repr(program).startswith(f"<Program figure1, {state}: (")
    assert repr(program).endswith(f"{program.outputs[0].name}: int8{list(wanted.shape)})>")
    program.close()
    program.close()
    assert repr(program).startswith("<Program figure1, closed: (")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="the program is closed\n  remedy: load it again"):
        program(given)
    program = compiled("figure1").load(sanitize=sanitize)  # what nobody keeps ends, too
    del program
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    again = compiled("figure1").load(sanitize=sanitize)
    assert np.array_equal(again(given), wanted)


def test_it_stays_in_its_process(program: Program) -> None:
    for copied in (pickle.dumps, copy.copy):
        with pytest.raises(UsageError, match=r"cannot be copied.*\n.*send the compiled network"):
            copied(program)


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "_places", lambda _: iter(()))
    with pytest.raises(MissingToolError, match="is not installed"):
        compiled("figure1").load()


def test_in_the_public_interface() -> None:
    model = lowtide.load("zoo:figure1")
    with lowtide.compile(model, Options(name="other")).load() as program:
        assert program.name == "other"
        assert isinstance(program, lowtide.Program)
    assert ModelError.exit_code == 3
