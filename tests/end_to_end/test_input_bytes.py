"""`--input-type uint8`: the bytes of a camera for networks of int8, converted where they are read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_layouts import image_network, turned

from lowtide.commands.checking import run, verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.ir import DType
from lowtide.modes import InputMode
from networks import compiled, loaded

BYTES = Options(input_type="uint8")


@pytest.mark.parametrize("mode", ["resident", "const", "streamed"])
def test_it_is_verified_wherever_the_input_is(mode: InputMode) -> None:
    found = compile_model(loaded("figure1"), Options(input_type="uint8", input_mode=mode))
    assert [found.graph.tensors[t].dtype for t in found.graph.inputs] == [DType.UINT8]
    assert verify(found, samples=4).bit_exact


@pytest.mark.parametrize("name", ["mobilenet-v1-0.25-96", "ds-cnn-kws"])
@pytest.mark.parametrize("mode", ["resident", "const"])
def test_it_takes_no_memory(name: str, mode: InputMode) -> None:
    options = Options(input_mode=mode)
    plain, found = compiled(name, options), compiled(name, replace(options, input_type="uint8"))
    assert found.arena_bytes == plain.arena_bytes
    assert len(found.graph.ops) == len(plain.graph.ops)


def test_the_header_says_so() -> None:
    header = compiled("figure1", BYTES).files["figure1.h"].decode()
    assert "/* Input 0: uint8, 128 more than in int8. */" in header
    assert "#define FIGURE1_INPUT_0_TYPE uint8_t" in header
    zero = loaded("figure1").graph.tensors[loaded("figure1").graph.inputs[0]].quant
    assert zero is not None
    assert f"#define FIGURE1_INPUT_0_ZERO_POINT {zero.zero_point[0] + 128}" in header


def test_on_a_board() -> None:
    assert run(compiled("figure1", BYTES), "mps2-an386", samples=1).bit_exact


def test_with_channels_last_and_floats_before() -> None:
    model = turned(image_network(), dtype="float")
    options = Options(input_type="uint8", input_layout="nhwc", quantized_io=True)
    found = compile_model(model, options)
    assert (
        "the file has them first, {1, 32, 7, 7}; uint8, 128 more"
        in found.files["turned.h"].decode()
    )
    assert verify(found, samples=2).bit_exact
    with pytest.raises(UsageError) as caught:
        compile_model(model, Options(input_type="uint8"))
    assert str(caught.value) == (
        "--input-type uint8: the network has no int8 input with a scale, but FLOAT32\n"
        "  remedy: leave it out, or give --quantized-io as well if floats are converted first"
    )
