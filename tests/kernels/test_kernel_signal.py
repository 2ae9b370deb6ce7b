"""TFLM's signal operators against TFLM: all lengths of transforms, sizes of frames, extreme values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from harness import differences

from assembled import refusal
from lowtide.commands.checking import Verified, verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.lower.fourier import factors_of
from lowtide.lower.nodes import Node
from lowtide.tflite.read import parse
from lowtide.trigonometry import cosine, sine
from lowtide.zoo.spec import OpSpec
from signal_models import Signals

LENGTHS = [n for n in range(4, 130, 2) if max(factors_of(n // 2)) <= 5] + [160, 256, 480, 512, 750]


def verified(net: Signals, **options: Any) -> Verified:
    model = parse(net.build(), path="signal")
    return verify(compile_model(model, Options(name="net", **options)), samples=24)


@pytest.mark.parametrize("dtype", ["INT16", "INT32"])
def test_transforms(dtype: str) -> None:
    """Forward from whole frames and short ones; inverse of any spectrum, and of one's own."""
    net = Signals()
    one, short = net.input((2, 750), dtype), net.input((1, 3), dtype)
    for length in LENGTHS:
        whole = net.input((2, length), dtype)
        net.irfft(net.rfft(whole, length, dtype), length, dtype)
        net.irfft(net.input((1, length + 2), dtype), length, dtype)
        net.rfft(short, length, dtype)
    net.rfft(one, 768, dtype)
    assert differences(net.build(), samples=6, engine="tflm") == []


def test_factors_are_kissffts() -> None:
    wanted = {2: (2,), 3: (3,), 6: (2, 3), 8: (4, 2), 10: (2, 5), 20: (4, 5), 75: (3, 5, 5)}
    assert {points: factors_of(points) for points in wanted} == wanted
    assert factors_of(256) == (4,) * 4
    assert factors_of(7) == (7,)


def test_cosines_are_the_c_librarys() -> None:
    for k in range(-700, 700):
        assert math.isclose(cosine(k / 100), math.cos(k / 100), rel_tol=1e-15, abs_tol=1e-16)
        assert math.isclose(sine(k / 100), math.sin(k / 100), rel_tol=1e-15, abs_tol=1e-16)
    assert (cosine(0.0), sine(0.0)) == (1.0, 0.0)


def spectrum_samples(net: Signals, count: int = 8) -> list[dict[int, Any]]:
    """Small values, large ones, and the least one in all places."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(count):
        sample = {}
        for tensor in net.inputs:
            shape = net.tensors[tensor].shape
            most = 1 << rng.integers(0, 16)
            values = rng.integers(-most, most, shape).astype(np.int16)
            if number % 2:
                values.reshape(-1)[rng.integers(0, values.size)] = -32768
            sample[tensor] = values
        found.append(sample)
    return found


def test_windows_scales_and_energies() -> None:
    net = Signals()
    rng = np.random.default_rng(1)
    for shape in ((9,), (1, 16), (3, 5), (2, 2, 7)):
        source = net.input(shape)
        for shift in (0, 1, 8, 12, 15, 31):
            weights = net.const(rng.integers(-32768, 32768, shape[-1]))
            net.signal("Window", [source, weights], (shape, "INT16"), shift=shift)
        weights = net.const(np.full(shape[-1], -32768))
        net.signal("Window", [source, weights], (shape, "INT16"), shift=12)
    for size in (1, 2, 31):
        source = net.input((size,))
        net.signal("FftAutoScale", [source], ((size,), "INT16"), ((), "INT32"))
    for size in (1, 9):
        options = {"start_index": 0, "end_index": size}
        net.signal("Energy", [net.input((2 * size,))], ((size,), "UINT32"), **options)
    assert differences(net.build(), samples=6, engine="tflm") == []
    assert differences(net.build(), inputs=spectrum_samples(net), engine="tflm") == []


def test_energies_of_a_part() -> None:
    """The reference leaves the others as they happen to be; here they are 0."""
    net = Signals()
    parts = ((9, 2, 7), (9, 4, 4), (9, 8, 9), (9, 0, 3))
    for size, begin, end in parts:
        source = net.input((2 * size,))
        options = {"start_index": begin, "end_index": end}
        (made,) = net.signal("Energy", [source], ((size,), "UINT32"), **options)
        cast = net.tensor((size,), "INT32")
        net.ops.append(OpSpec("CAST", 1, (made,), (cast,), "CastOptions"))
        net.outputs.append(cast)
    assert verified(net).bit_exact
    with compile_model(parse(net.build()), Options(name="net")).load() as program:
        most = tuple(np.full(end.shape, 9, np.int16) for end in program.inputs)
        made = program(most)
    both = [part for part in parts for _ in range(2)]
    for values, (size, begin, end) in zip(made, both, strict=True):
        assert values.tolist() == [162 if begin <= i < end else 0 for i in range(size)]


def test_filter_banks() -> None:
    """Bands of any width, none included; what follows them takes any number."""
    rng = np.random.default_rng(2)
    net = Signals()
    scale = net.input((4,))
    _, bits = net.signal("FftAutoScale", [scale], ((4,), "INT16"), ((), "INT32"))
    for channels, size in ((1, 4), (5, 40), (40, 257)):
        energies = net.input((size,), "UINT32")
        widths = rng.integers(0, max(2, size // channels), channels + 1)
        total = int(widths.sum()) + 1
        starts = [rng.integers(0, size - width + 1) for width in widths]
        weights = [net.const(rng.integers(0, 32768, total)) for _ in range(2)]
        tables = [net.const(starts), net.const(np.cumsum(widths) - widths), net.const(widths)]
        (bank,) = net.signal(
            "FilterBank",
            [energies, *weights, *tables],
            ((channels,), "UINT64"),
            num_channels=channels,
        )
        any_number = net.input((channels,), "UINT64")
        for source in (bank, any_number):
            net.signal("FilterBankSquareRoot", [source, bits], ((channels,), "UINT32"))
        source, noise = net.input((channels,), "UINT32"), net.input((channels,), "UINT32")
        for gains, shift in ((rng.integers(-32768, 32768, 125), 6), (np.full(130, 32767), 0)):
            inputs = [source, noise, net.const(gains)]
            net.signal("PCAN", inputs, ((channels,), "UINT32"), snr_shift=shift)
        for more, factor in ((0, 65536), (3, 1600), (31, 1), (1, -5)):
            options = {"input_correction_bits": more, "output_scale": factor}
            net.signal("FilterBankLog", [source], ((channels,), "INT16"), **options)
    assert differences(net.build(), samples=6, engine="tflm") == []
    rng = np.random.default_rng(4)
    samples = []
    for _ in range(8):
        sample: dict[int, Any] = {}
        for tensor in net.inputs:
            spec = net.tensors[tensor]
            kind = np.dtype(spec.dtype.lower())
            bits_of = 8 * kind.itemsize - (kind.kind == "i")
            exponents = rng.integers(0, bits_of + 1, spec.shape)
            near = [(1 << int(e)) + int(rng.integers(-2, 3)) for e in exponents]
            sample[tensor] = np.array([min(max(v, 0), (1 << bits_of) - 1) for v in near], kind)
        samples.append(sample)
    assert differences(net.build(), inputs=samples, engine="tflm") == []


def test_what_is_remembered() -> None:
    """Frames, delays, sums of frames and stacks, over a sequence of calls and a reset."""
    net = Signals()
    one, two = net.input((1, 12)), net.input((2, 12))
    for size, hop in ((1, 1), (4, 4), (5, 4), (7, 3), (12, 12), (30, 12), (31, 4), (9, 6), (25, 2)):
        for prefill in (False, True):
            net.framer(one, size, hop, prefill=prefill)
            net.framer(two, size, hop, prefill=prefill)
    for delay in (0, 1, 11, 12, 13, 40):
        net.delay(one, delay)
        net.delay(two, delay)
    frames = [net.input(shape) for shape in ((1, 1, 8), (2, 3, 5), (3, 7))]
    for source in frames:
        for hop in (1, 2, 4, 5):
            net.overlap_add(source, hop)
    stacked = net.input((3,))
    stacks = (0, 0, 1), (1, 1, 1), (1, 1, 2), (2, 0, 3), (0, 3, 1), (3, 4, 8), (0, 2, 2)
    for left, right, hop in stacks:
        net.stacker(stacked, left, right, hop)
    for schedule in ("rows", "operators"):
        result = verified(net, schedule=schedule)
        assert result.bit_exact, result.mismatch
        assert result.state is not None


def test_noise_is_followed() -> None:
    net = Signals()
    for channels in (1, 40):
        source = net.input((channels,), "UINT32")
        net.subtraction(source)
        net.subtraction(source, clamping=True)
        net.subtraction(source, smoothing_bits=0, spectral_subtraction_bits=10, smoothing=900)
        net.subtraction(source, smoothing_bits=31, min_signal_remaining=-1, clamping=True)
        net.subtraction(source, spectral_subtraction_bits=63)
    result = verified(net)
    assert result.bit_exact, result.mismatch
    assert result.state is not None
    assert result.state.bytes == 5 * 4 * 41


def test_state_is_as_small_as_can_be() -> None:
    """A frame of 480 samples every 160 keeps 320; a stack of 3 frames of 10 keeps 2 and their number."""
    net = Signals()
    net.framer(net.input((1, 160)), 480, 160, prefill=True)
    net.delay(net.input((1, 5)), 7)
    net.overlap_add(net.input((1, 1, 8)), 2)
    net.stacker(net.input((10,)), 1, 1, 1)
    compiled = compile_model(parse(net.build(), path="signal"), Options(name="net"))
    kept = [variable.size for variable in compiled.assembly.variables]
    assert kept == [2 * 320, 2 * 7, 2 * 6, 2 * 21]


def test_what_remembers_nothing_has_no_row_of_state() -> None:
    net = Signals()
    net.framer(net.input((2, 12)), 4, 4, prefill=True)
    net.overlap_add(net.input((2, 3, 5)), 5)
    net.delay(net.input((2, 6)), 0)
    graph = parse(net.build()).graph
    for op in graph.ops:
        (node,) = lower_op(graph, op).nodes
        assert isinstance(node, Node)
        assert node.steps == 2
        assert (node.outputs[-1].first, node.outputs[-1].stride) == (-1, 0)


@pytest.mark.parametrize(
    ("length", "shape", "why"),
    [
        (
            14,
            (1, 14),
            "its length is 14, but it must be an even number from 4 to 32768 with no prime factor "
            "above 5",
        ),
        (
            2,
            (1, 2),
            "its length is 2, but it must be an even number from 4 to 32768 with no prime factor "
            "above 5",
        ),
        (8, (1, 9), "9 samples do not fit a length of 8"),
    ],
)
def test_refused_transforms(length: int, shape: tuple[int, ...], why: str) -> None:
    net = Signals()
    net.rfft(net.input(shape), length)
    assert refusal(net.build()) == why


def test_refusals() -> None:
    net = Signals()
    options = {"T": 2, "fft_length": 8}
    net.signal("Rfft", [net.input((1, 8))], ((1, 10), "INT16"), **options)
    assert refusal(net.build()) == "its tensors do not have the type that its option T names"
    net = Signals()
    net.signal("Rfft", [net.input((1, 8))], ((1, 10), "INT16"), fft_length=8)
    assert refusal(net.build()) == "its options do not match the operator"
    net = Signals()
    net.signal("Window", [net.input((8,)), net.input((8,))], ((8,), "INT16"), shift=4)
    assert refusal(net.build()) == "input 1 must be a constant"
    net = Signals()
    net.signal("Window", [net.input((8,)), net.const([1] * 8)], ((8,), "INT16"), shift=32)
    assert refusal(net.build()) == "its option shift is 32, but it must be 0 to 31"
    net = Signals()
    energy = {"start_index": 0, "end_index": 5}
    net.signal("Energy", [net.input((8,))], ((4,), "UINT32"), **energy)
    assert refusal(net.build()) == "it has no energies 0 to 5"
    net = Signals()
    tables = [net.const([1, -1]), net.const([1, 1]), *(net.const([0, 0]) for _ in range(3))]
    inputs = [net.input((4,), "UINT32"), *tables]
    net.signal("FilterBank", inputs, ((1,), "UINT64"), num_channels=1)
    assert refusal(net.build()) == "a weight is below 0"
    net = Signals()
    tables = [net.const([1, 1]), net.const([1, 1]), net.const([0, 3]), net.const([0, 0])]
    inputs = [net.input((4,), "UINT32"), *tables, net.const([2, 2])]
    net.signal("FilterBank", inputs, ((1,), "UINT64"), num_channels=1)
    assert refusal(net.build()) == "a band goes beyond its energies or its weights"
    net = Signals()
    tables = [net.const([1, 1]), net.const([1, 1]), *(net.const([0, 0]) for _ in range(3))]
    inputs = [net.input((4,), "UINT32"), *tables]
    net.signal("FilterBank", inputs, ((1,), "UINT32"), num_channels=1)
    assert (
        refusal(net.build()) == "its tensors do not have the types that the reference kernel takes"
    )
    net = Signals()
    net.framer(net.input((1, 12)), 3, 4, prefill=False)
    assert (
        refusal(net.build())
        == "12 samples are not whole steps of 4, or a frame is shorter than a step"
    )
    net = Signals()
    net.stacker(net.input((3,)), 1, 1, 4)
    assert refusal(net.build()) == "it cannot make stacks of 3 frames every 4 frames"
    net = Signals()
    net.overlap_add(net.input((1, 1, 4)), 5)
    assert refusal(net.build()) == "its output does not match 1 frames of 4 in steps of 5"
    net = Signals()
    net.delay(net.input((1, 4)), -1)
    assert refusal(net.build()) == "a size is out of range"
    net = Signals()
    net.subtraction(net.input((4,), "UINT32"), num_channels=3)
    assert refusal(net.build()) == "its tensors do not all have 4 channels"
    net = Signals()
    net.subtraction(net.input((4,), "UINT32"), spectral_subtraction_bits=64)
    with pytest.raises(ModelError, match="spectral_subtraction_bits is 64, but it must be 0 to 63"):
        verified(net)
