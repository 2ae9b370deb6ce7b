"""Certificates: of sound bundles they are made and hold; of bundles and certificates with a fault they
are refused, each for its reason."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.commands.certifying import certified
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.machines.board import find_target
from lowtide.prove.certificate import RefusedError
from lowtide.prove.checker import check
from lowtide.report.data import to_json
from lowtide.report.proved import certificate_text
from lowtide.tflite.read import parse
from networks import compiled
from odd_nets import odd_network
from schema_models import Net

Files = dict[str, bytes]


def _loud(core: str, scale: float = 1.1) -> Compiled:
    """A program of layers with factors of 1/2 and more, of several channels of each, too: with weights
    of that scale in a third of the channels."""
    net = Net(np.int8, 0.05, 0)
    draw = np.random.default_rng(31)
    x = net.input((1, 9, 9, 8))

    def layer(kind: str, shape: tuple[int, ...], made: tuple[int, ...], options: Any) -> None:
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        scales = np.where(np.arange(shape[axis]) % 3, 0.01, scale)
        values = draw.integers(-127, 128, shape)
        weights = net.const(values, np.int8, quant=(scales, 0), axis=axis)
        bias = net.const(np.zeros(shape[axis]), quant=(0.05 * scales, 0))
        source = x if kind != "FULLY_CONNECTED" else net.input((1, shape[1]))
        net.op(kind, [source, weights, bias], made, options=options, quant=(0.1, 1))

    conv = schema.Conv2DOptionsT(strideW=1, strideH=1)
    layer("CONV_2D", (9, 1, 1, 8), (1, 9, 9, 9), conv)
    layer("CONV_2D", (6, 3, 3, 8), (1, 9, 9, 6), conv)
    for high, wide, filters in ((3, 3, 1), (5, 1, 1), (5, 5, 1), (5, 5, 2)):
        depthwise = schema.DepthwiseConv2DOptionsT(strideW=1, strideH=1, depthMultiplier=filters)
        shape = 1, high, wide, 8 * filters
        layer("DEPTHWISE_CONV_2D", shape, (1, 9, 9, 8 * filters), depthwise)
    layer("FULLY_CONNECTED", (5, 40), (1, 5), schema.FullyConnectedOptionsT())
    model = parse(net.build(), path="loud")
    return compile_model(model, Options(target=find_target(core), simplify=False))


def _one_beyond() -> Compiled:
    """A pointwise layer of one column, with one channel beyond the last four, in DSP code."""
    net = Net(np.int8, 0.05, 0)
    x = net.input((1, 4, 1, 16))
    values = np.random.default_rng(5).integers(-127, 128, (5, 1, 1, 16))
    weights = net.const(values, np.int8, quant=(0.01, 0))
    bias = net.const(np.zeros(5), quant=(0.0005, 0))
    options = schema.Conv2DOptionsT(strideW=1, strideH=1)
    net.op("CONV_2D", [x, weights, bias], (1, 4, 1, 5), options=options, quant=(0.1, 1))
    options = Options(target=find_target("cortex-m4"), simplify=False)
    return compile_model(parse(net.build(), path="one"), options)


def _odd_windows() -> Compiled:
    """A layer of dilated windows, and a dense one of five channels, in DSP code."""
    net = Net(np.int8, 0.05, 0)
    draw = np.random.default_rng(6)
    x, y = net.input((1, 8, 8, 4)), net.input((1, 5))
    dilated = schema.Conv2DOptionsT(strideW=1, strideH=1, dilationWFactor=2, dilationHFactor=2)
    dilated.padding = schema.Padding.VALID
    for kind, source, shape, made, options in (
        ("CONV_2D", x, (8, 3, 3, 4), (1, 4, 4, 8), dilated),
        ("FULLY_CONNECTED", y, (6, 5), (1, 6), schema.FullyConnectedOptionsT()),
    ):
        weights = net.const(draw.integers(-127, 127, shape), np.int8, quant=(0.01, 0))
        bias = net.const(np.zeros(shape[0]), quant=(0.0005, 0))
        net.op(kind, [source, weights, bias], made, options=options, quant=(0.1, 1))
    options = Options(target=find_target("cortex-m4"), simplify=False)
    return compile_model(parse(net.build(), path="odd"), options)


PROGRAMS: Mapping[str, Callable[[], Compiled]] = {
    "figure1": lambda: compiled("figure1"),
    "figure1, DSP": lambda: compiled("figure1", Options(target=find_target("cortex-m4"))),
    "figure1, Helium": lambda: compiled("figure1", Options(target=find_target("cortex-m55"))),
    "ds-cnn": lambda: compiled("ds-cnn-kws"),
    "state": lambda: compiled("streaming-wake-word"),
    "uint8": lambda: compile_model(parse(odd_network(3), path="odd")),
    "nine bits": lambda: compile_model(parse(odd_network(5), path="odd")),
    "int16": lambda: compile_model(parse(odd_network(11), path="odd")),
    "loud, portable": lambda: _loud("cortex-m3"),
    "loud, DSP": lambda: _loud("cortex-m4"),
    "loud, Helium": lambda: _loud("cortex-m55"),
    "louder, DSP": lambda: _loud("cortex-m4", 40),
    "one beyond, DSP": _one_beyond,
    "odd windows, DSP": _odd_windows,
}


@cache
def program(name: str) -> tuple[Compiled, str]:
    """A program, and its certificate as it is written."""
    made = PROGRAMS[name]()
    return made, to_json(certified(made))


@pytest.mark.parametrize("name", PROGRAMS)
def test_sound_bundles_are_certified(name: str) -> None:
    made, text = program(name)
    document = json.loads(text)
    assert check(document, made.model.source, made.files) == document
    proved = document["proved"]
    assert proved["data_flow"] and proved["bounds"] and proved["products"]
    covered = {claim["operator"] for key in ("products", "functions") for claim in proved[key]}
    alone = {int(told.split()[0]) for told in document["tested_alone"]}
    assert covered | alone == {op.id for op in made.graph.ops if _is_computed(made, op.id)}
    assert all(0 <= claim["largest"] < 1 << claim["bits"] - 1 for claim in proved["products"])
    shown = certificate_text(document, again=True)
    for told in (*document["not_proved"], *document["tested_alone"], made.name):
        assert told in shown


def _is_computed(made: Compiled, op: int) -> bool:
    return any(op in claim[0] for claim in json.loads(to_json(certified(made)))["said"]["nodes"])


def _edited(files: Mapping[str, bytes], name: str, edit: Callable[[str], str]) -> Files:
    text = files[name].decode()
    changed = edit(text)
    assert changed != text
    return {**files, name: changed.encode()}


def _field(
    ctype: str, name: str, change: Callable[[int], int], at: int = 0
) -> Callable[[str], str]:
    """Another number in the first params of that type, which is a pattern, or, at a position, in the
    array that a field of them names."""

    def edit(text: str) -> str:
        params = re.search(f"static const {ctype} ", text)
        assert params is not None
        found = re.compile(rf"\.{name} = (-?\w+),").search(text, params.end())
        assert found is not None
        if not re.fullmatch(r"-?\d+", found[1]):
            before = rf"(?:-?\d+,\s*){{{at}}}"
            array = re.compile(rf" {found[1]}\[\d+\][^{{]*\{{\s*{before}(-?\d+)").search(text)
            assert array is not None
            found = array
        return f"{text[: found.start(1)]}{change(int(found[1]))}{text[found.end(1) :]}"

    return edit


def _swapped(first: str, second: str, after: str = "") -> Callable[[str], str]:
    """The first match of a pattern behind `after`, and the next one of another, change places."""

    def edit(text: str) -> str:
        one = re.compile(first, re.MULTILINE).search(text, text.index(after))
        assert one is not None
        two = re.compile(second, re.MULTILINE).search(text, one.end())
        assert two is not None
        between = text[one.end() : two.start()]
        return text[: one.start()] + two[0] + between + one[0] + text[two.end() :]

    return edit


def _next(value: int) -> int:
    return value + 1


def _beside(word: int) -> int:
    """The lower of two halves with a 1 above its byte, where the weight of the next channel is."""
    lower = (word + 256) & 0xFFFF
    return (word & ~0xFFFF) | lower


def _word(at: int, change: Callable[[int], int]) -> Callable[[str], str]:
    """Another word of the records of a depthwise kernel of 3 x 3, seven for a channel: 0, 2, 1, 3."""
    return _field("lt_depthwise_3x3_s8", "records", change, at)


_CONV, _DEPTHWISE, _WIDE = "lt_conv_packed_s8", "lt_depthwise_mult1_s8", "lt_conv_2x2_s16"
_SUM = "lt_addition"
_EACH = r"lt_depthwise_each_s8 \w+_params_\d+"  # what calls all the others

FAULTS: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "a weight": ("figure1", _field(_CONV, "weights", _next)),
    "a bias": ("figure1", _field(_CONV, "scales", lambda bias: bias + 2)),
    "half a bias": ("figure1", _field(_CONV, "scales", _next)),
    "a centre": ("figure1", _field(_CONV, "centre", lambda centre: centre + 2)),
    "the least output": ("figure1", _field(_CONV, "low", _next)),
    "the greatest output": ("figure1", _field(_CONV, "high", lambda high: high - 1)),
    "an input's zero point": ("figure1", _field(_CONV, "input_zero", _next)),
    "the number of products": ("figure1", _field(_CONV, "quads", _next)),
    "a window that is taken for a pixel": ("ds-cnn", _field(_CONV, "direct", _next)),
    "channels": ("figure1", _field(_CONV, "out_c", lambda count: count - 1)),
    "bits that are flipped": ("figure1", _field(_CONV, "flip", lambda _: 128)),
    "a depthwise weight": ("ds-cnn", _field(_DEPTHWISE, "weights", _next)),
    "a multiplier": ("ds-cnn", _field(_DEPTHWISE, "multiplier", lambda m: m - (1 << 22))),
    "a shift": ("ds-cnn", _field(_DEPTHWISE, "shift", _next)),
    "a shift beyond its range": ("ds-cnn", _field(_DEPTHWISE, "shift", lambda _: 40)),
    "an order of rows": ("ds-cnn", _field(_DEPTHWISE, "kernel_h", _next)),
    "a weight of a DSP's": ("figure1, DSP", _field("lt_conv_4x2_s8", "records", _next)),
    "a last window": ("figure1, DSP", _field("lt_conv_4x2_s8", "last", lambda _: 30000)),
    "a weight of a channel that is not there": (
        "one beyond, DSP",
        _field("lt_conv_4x2_s8", "records", _beside, 28 + 4),
    ),
    "a kernel of more pixels": (
        "one beyond, DSP",
        lambda text: text.replace("lt_conv_4x2_s8_row", "lt_conv_4x2_s8_three"),
    ),
    "columns of a window that are not side by side": (
        "odd windows, DSP",
        _field("lt_conv_4x2_s8", "last", lambda _: 0),
    ),
    "a dense layer's padding": (
        "odd windows, DSP",
        _field(r"lt_conv_4x2_s8 \w+_params_1", "pad_left", _next),
    ),
    "a number beyond its field": ("figure1", _field(_CONV, "high", lambda high: high + 256)),
    "a number of an array beyond its type": (
        "figure1",
        _field(_CONV, "weights", lambda w: w + 256),
    ),
    "counters that go on": ("figure1", _field("lt_program", "counter_count", lambda _: 0)),
    "counters beyond an instance": ("figure1", _field("lt_program", "counter_count", _next)),
    "exchanges of no kind": ("figure1", _field("lt_program", "exchanges", lambda _: 4)),
    "an instance's counters elsewhere": (
        "figure1",
        lambda text: text.replace("offsetof(figure1_t, next)", "offsetof(figure1_t, bases)"),
    ),
    "a kernel of other params": (
        "ds-cnn",
        lambda text: re.sub(
            r"\{ lt_softmax_8_row, 1, 1 \}", "{ lt_average_pool_s8_row, 1, 1 }", text
        ),
    ),
    "a kernel of one pixel": (
        "figure1, DSP",
        lambda text: text.replace("lt_conv_4x2_s8_row", "lt_conv_4x2_s8_one"),
    ),
    "a weight of Helium's": ("figure1, Helium", _field("lt_conv_vector_s8", "records", _next)),
    "an entry of a table": ("uint8", _field("lt_lut", "table", lambda entry: entry ^ 1)),
    "a sum's zero point": ("uint8", _field(_SUM, "output_zero", _next)),
    "a sum's start": ("uint8", _field(_SUM, "start", lambda start: start + (1 << 20))),
    "a sum's shift": ("uint8", _field(_SUM, "shift", lambda shift: shift - 1)),
    "a factor of nine bits": ("nine bits", _field("lt_w9_s8", "weights", _next)),
    "a double": ("nine bits", _field("lt_fully_connected_u8", "output_zero", _next)),
    "a factor of int16": ("int16", _field(_WIDE, "factor", lambda factor: factor - (1 << 22))),
    "a shift of int16": ("int16", _field(_WIDE, "left", _next)),
    "a weight of int16": ("int16", _field("lt_depthwise_s16", "weights", _next)),
    "a weight of any factor": ("loud, portable", _field("lt_conv_scalar_s8", "weights", _next)),
    "a loud weight of a DSP's": ("loud, DSP", _field("lt_conv_4x2_s8", "records", _next)),
    "a loud 3 x 3": ("loud, DSP", _field("lt_depthwise_3x3_s8", "records", _next)),
    "a bias of a quiet channel": ("louder, DSP", _word(11, lambda bias: bias + (1 << 27))),
    "a bias of a loud channel": ("louder, DSP", _word(4, lambda bias: bias + (1 << 27))),
    "a sum that is shifted too far": ("louder, DSP", _word(3, lambda _: 40 << 8)),
    "a sum that is not shifted": ("louder, DSP", _word(3, lambda _: 0)),
    "a loud column": ("loud, DSP", _field("lt_depthwise_columns_s8", "records", _next)),
    "a loud weight of Helium's": ("loud, Helium", _field("lt_conv_vector_s8", "records", _next)),
    "a loud plane": ("loud, Helium", _field("lt_depthwise_planes_s8", "records", _next)),
    "channels of each": ("loud, DSP", _field("lt_depthwise_each_s8", "filters", _next)),
    "what each makes, and more": ("loud, DSP", _field(_EACH, "out_w", lambda wide: wide + 3)),
    "less than each makes": ("loud, DSP", _field(_EACH, "out_w", lambda wide: wide - 1)),
    "more channels of each": ("loud, DSP", _field(_EACH, "channels", _next)),
    "more of each channel": ("loud, DSP", _field(_EACH, "filters", _next)),
    "one channel of each alone": (
        "loud, DSP",
        lambda text: re.sub(r"\.next = \w+_\w+|\.next = &\w+", ".next = 0", text),
    ),
    "the order of steps": (
        "figure1",
        _swapped(r"\{ 1, 1 \}", r"\{ 2, 1 \}", "lt_turn figure1_turns"),
    ),
    "kernels of one another's params": ("ds-cnn", _swapped(rf"{_CONV}_row", rf"{_DEPTHWISE}_row")),
    "params of another operator": (
        "ds-cnn",
        _swapped(r"ds_cnn_kws_params_2,", r"ds_cnn_kws_params_4,"),
    ),
    "a step more than a block has": (
        "state",
        lambda text: text.replace("{ 2, 1 },", "{ 2, 2 },"),
    ),
    "a value after a reset": (
        "state",
        lambda text: re.sub(r"(memset\([^,]+, )-?\d+", r"\g<1>5", text),
    ),
}
"""What is wrong -> the program, and what becomes of its C."""


@pytest.mark.parametrize("fault", FAULTS)
def test_bundles_with_a_fault_are_refused(fault: str) -> None:
    name, edit = FAULTS[fault]
    made, text = program(name)
    files = _edited(made.files, f"{made.name}.c", edit)
    with pytest.raises(RefusedError, match="not proved"):
        certified(made, files)
    with pytest.raises(RefusedError, match="not proved"):
        check(json.loads(text), made.model.source, files)


def test_what_else_makes_another_bundle() -> None:
    """Memory that is too small, the runtime, a file that is missing, another model."""
    made, text = program("figure1")
    document, source = json.loads(text), made.model.source
    small = _edited(
        made.files, "figure1.h", lambda code: re.sub(r"(ARENA_SIZE) \d+", r"\1 64", code)
    )
    runtime = _edited(made.files, "lt_conv_packed.c", lambda code: code.replace("+", "-", 1))
    comment = _edited(made.files, "figure1.c", lambda code: code.replace("/* ", "/*  ", 1))
    missing = {name: code for name, code in made.files.items() if name != "figure1.h"}
    for files, why in (
        (small, "not proved"),
        (runtime, "lt_conv_packed.c differs from the tested runtime's"),
        (missing, "the bundle lacks 'figure1.h'"),
        (
            comment,
            r"figure1\.c is not the file that the certificate is about",
        ),  # another file, though as good as this one
    ):
        with pytest.raises(RefusedError, match=why):
            check(document, source, files)
    with pytest.raises(RefusedError):
        check(document, program("ds-cnn")[0].model.source, made.files)


def _set(document: Any, path: str, value: object) -> None:
    *most, last = path.split(".")
    for key in most:
        document = document[int(key) if key.isdigit() else key]
    document[int(last) if last.isdigit() else last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "lowtide.certificate/2"),
        ("model.sha256", "0" * 64),
        ("proved.steps", 1),
        ("proved.products.0.head_room_bits", 31),
        ("proved.products.0.least", 0),
        ("tested_alone", []),
        ("not_proved", []),
        ("said.nodes", []),
        ("said.nodes", 7),
        ("said.asked.simplify", 1),
        ("said.asked.more", 1),
        ("said.kernels", [True]),
        ("said", None),
        ("program", "other"),
        ("more", 1),
    ],
)
def test_certificates_that_were_changed_are_refused(path: str, value: object) -> None:
    made, text = program("figure1")
    document = json.loads(text)
    _set(document, path, value)
    with pytest.raises(RefusedError):
        check(document, made.model.source, made.files)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (
            "model.sha256",
            "0" * 64,
            "for another model, whose SHA-256 begins with 000000000000, not",
        ),
        ("model", None, "damaged: it does not say which model"),
        ("said.nodes", 7, "damaged: its hints"),
        ("said.prices.0", {}, "does not fit its bundle: the program's tables contradict"),
        ("said.prices", [], "does not fit its bundle: simplification asks more"),
        ("not_proved.0", "nothing", "says that not_proved[0] is nothing, but it is that each"),
        ("not_proved", {}, "says that not_proved is {}, but it is ["),
        ("lowtide", None, "says that lowtide is missing, but it is"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_told_in_words(
    path: str, value: object, why: str
) -> None:
    """Without Python's names, and with a remedy for the certificate: the bundle is as it was."""
    made, text = program("figure1")
    document = json.loads(text)
    _set(document, path, value)
    with pytest.raises(RefusedError) as caught:
        check(document, made.model.source, made.files)
    assert f"not proved: the certificate {'is ' * why.startswith(('for', 'damaged'))}{why}" in (
        caught.value.cause
    )
    assert "make the certificate again with" in caught.value.remedy
    assert "Error" not in caught.value.cause and "None" not in caught.value.cause


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4", "cortex-m55"])
def test_where_the_reference_overflows_an_operator_is_only_tested(core: str) -> None:
    """Factors of 5,000 take the sums of large windows beyond 32 bits in the reference, so that nothing
    says what a kernel should make; those of small windows stay within, and are proved."""
    made = _loud(core, 10_000)
    document = certified(made)
    alone = {int(told.split()[0]) for told in document["tested_alone"]}
    proved = {claim["operator"] for claim in document["proved"]["products"]}
    assert 1 in alone and 0 in proved
    assert alone.isdisjoint(proved) and alone | proved == {op.id for op in made.graph.ops}
    assert check(json.loads(to_json(document)), made.model.source, made.files)


def test_what_a_certificate_leaves_out_is_none() -> None:
    made, text = program("figure1")
    document = json.loads(text)
    assert document["said"]["asked"].pop("hop") is None
    assert check(document, made.model.source, made.files) == json.loads(text)


def test_the_checker_does_not_import_the_compiler() -> None:
    code = "import sys, lowtide.prove.__main__; print(*sorted(m for m in sys.modules if 'lowtide' in m))"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in loaded if "." in name}
    assert not rooms & {"lower", "rows", "plans", "place", "program", "order", "commands", "report"}
    assert {name for name in loaded if name.startswith("lowtide.emit.")} == {"lowtide.emit.runtime"}
