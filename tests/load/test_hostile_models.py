"""A damaged file is refused soon, in little memory, and with a short message.

Why apart from the mutants of test_fuzz.py: chance does not find the files here. A flatbuffer may refer
to one part of itself from many places, so a small file can describe a very large model.
"""

from __future__ import annotations

import random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import pytest
from guarded import guard
from tiny import chain, model, operator, pack, read, subgraph, tensor

from lowtide.errors import ModelError
from lowtide.tflite.read import parse
from networks import contents

MESSAGE = 1_000


class Shared:
    """A table that a file holds once, however often it is packed."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.offset = 0

    def Pack(self, builder: Any) -> int:  # noqa: N802  # the object API's name
        if not self.offset:
            self.offset = int(self.table.Pack(builder))
        return self.offset


def test_a_file_cut_off_anywhere() -> None:
    """Every length of a small file, and lengths of a real one: no part of a file is a file."""
    small = pack(model(chain(4), buffers=[b"abcd" * 9], description="x"))
    real = contents("figure1")
    lengths = random.Random(1).sample(range(len(real)), 300)
    for source in [small[:k] for k in range(len(small))] + [real[:k] for k in lengths]:
        with pytest.raises(ModelError) as info:
            parse(source)
        assert info.value.cause.startswith("<bytes> ")
        assert info.value.remedy.endswith("; this one may be cut off or damaged")


@pytest.mark.parametrize("field", ["name", "shape", "quantization"])
def test_one_large_tensor_listed_very_often(field: str) -> None:
    """4,000 references to one tensor with 100 kB of something."""
    large: dict[str, Any] = {
        "name": "x" * 100_000,
        "shape": [1] * 100_000,
        "quantization": schema.QuantizationParametersT(scale=[1.0] * 100_000),
    }
    copies = [Shared(tensor(**{field: large[field]}))] * 4_000
    main = subgraph([tensor(), tensor(), *copies], [operator((0,), (1,))])
    source = pack(model(main))
    assert len(source) < 1_000_000
    with guard(), pytest.raises(ModelError, match=r"^<bytes> is damaged: "):
        parse(source)


@pytest.mark.parametrize(
    "shape",
    [
        [2**31 - 1] * 300_000,  # a product of millions of digits
        [2] * 41 + [1] * 300_000,
        [-1] * 300_000,
    ],
    ids=["huge", "large", "unknown"],
)
def test_a_shape_of_very_many_dimensions(shape: list[int]) -> None:
    with guard(), pytest.raises(ModelError) as info:
        read(subgraph([tensor(), tensor(shape)], [operator((0,), (1,))]))
    assert len(str(info.value)) < MESSAGE


def test_a_name_of_very_many_letters() -> None:
    bad = tensor((1, -1), name="x" * 100_000)
    with guard(), pytest.raises(ModelError) as info:
        read(subgraph([tensor(), bad], [operator((0,), (1,))]))
    assert len(str(info.value)) < MESSAGE


def test_a_name_of_several_lines() -> None:
    bad = tensor((1, -1), name="two\nlines\r\x1b[31m")
    with guard(), pytest.raises(ModelError) as info:
        read(subgraph([tensor(), bad], [operator((0,), (1,))]))
    assert len(info.value.cause.splitlines()) == 1
    assert "\x1b" not in info.value.cause
