"""The C of a network small enough to read, as a whole: source, header and README.

Why: whoever changes the generator sees in the difference what a user of the C would see.
"""

from __future__ import annotations

import pytest

from golden_files import assert_golden
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.emit.runtime import runtime_symbol
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation


def _tiny(options: Options) -> Compiled:
    """4 x 4 pixels of two channels: a convolution, a pool, two classes."""
    net = NetBuilder("tiny_net")
    image = net.input((1, 4, 4, 2))
    x = net.conv(image, "conv", 2, 3, activation=Activation.RELU)
    x = net.max_pool(x, "pool", 2, 2)
    x = net.reshape(x, "flat", (1, 8))
    x = net.fully_connected(x, "classes", 2)
    data = net.finish(net.softmax(x, "softmax"))
    return compile_model(parse(data, path="tiny_net.tflite"), options)


@pytest.mark.parametrize("file", ["tiny_net.c", "tiny_net.h", "README.md"])
def test_a_network_that_a_person_can_read(file: str, pytestconfig: pytest.Config) -> None:
    text = _tiny(Options()).files[file].decode()
    text = text.replace(runtime_symbol(), "lt_runtime_of_all_must_be_VERSION_DIGEST")
    name = "tiny_net_README.md" if file == "README.md" else file
    assert_golden(name, text.removesuffix("\n"), pytestconfig)


@pytest.mark.parametrize("file", ["tiny_net.h", "README.md"])
def test_its_interface_with_the_input_elsewhere(file: str, pytestconfig: pytest.Config) -> None:
    text = _tiny(Options(input_mode="const")).files[file].decode()
    name = f"tiny_net_const_{file}" if file == "README.md" else "tiny_net_const.h"
    assert_golden(name, text.removesuffix("\n"), pytestconfig)


def test_its_interface_with_rows_in_and_out(pytestconfig: pytest.Config) -> None:
    options = Options(input_mode="streamed", output_mode="streamed")
    text = _tiny(options).files["tiny_net.h"].decode()
    assert_golden("tiny_net_streamed.h", text.removesuffix("\n"), pytestconfig)
