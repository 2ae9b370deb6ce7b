"""Which cores get the kernels in Helium, and elementwise operators and pools there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from boards import board_differences

from assembled import assemble
from bench.shared.built import compile_only
from lowtide.emit.bundle import bundle
from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import find_target
from lowtide.machines.failures import BuildError
from lowtide.target import ANY
from lowtide.tflite.read import parse
from schema_models import plain_net

BOARD, M55 = "mps3-an547", find_target("cortex-m55")
_ASK = b'#include "lt_fixed.h"\n#ifdef LT_HELIUM\n#error the Helium variant\n#endif\n'
_FLAGS = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard"


@pytest.mark.parametrize(
    ("flags", "helium"),
    [
        (_FLAGS, True),
        ("-mcpu=cortex-m55+nomve.fp -mthumb -mfloat-abi=hard", True),
        ("-mcpu=cortex-m55+nomve -mthumb -mfloat-abi=hard", False),
        ("-mcpu=cortex-m4 -mthumb", False),
        ("-mcpu=cortex-m33 -mthumb", False),
    ],
)
def test_where_it_is_used(flags: str, helium: bool, tmp_path: Path) -> None:
    files = {"lt_fixed.h": kernel_files()["lt_fixed.h"].encode(), "ask.c": _ASK}
    try:
        compile_only(files, "arm-none-eabi", tmp_path, *flags.split())
    except BuildError as error:
        assert helium and "#error the Helium variant" in error.cause
    else:
        assert not helium


@pytest.mark.parametrize(
    "flags", [f"{_FLAGS} -O0", "-mcpu=cortex-m55+nomve.fp -mthumb -mfloat-abi=hard -O2"]
)
def test_its_kernels_compile(flags: str, tmp_path: Path) -> None:
    mine = {n.replace("_helium.c", ".c") for n in kernel_files() if n.endswith("_helium.c")}
    files = {
        name: text.encode()
        for name, text in kernel_files().items()
        if name.endswith(("_helium.c", ".h")) or name in mine
    }
    assert compile_only(files, "arm-none-eabi", tmp_path, *flags.split()) == ""


def test_which_files_a_bundle_has() -> None:
    data = _sums()
    graph = parse(data).graph
    for target, wanted in (("cortex-m55", True), (ANY.core, True), ("cortex-m4", False)):
        files = bundle(assemble(graph, range(len(graph.ops)), target=find_target(target)), "net")
        assert ("lt_binary_helium.c" in files) == wanted
        assert (b"#if defined(LT_HELIUM)" in files["net.c"]) == (target == "cortex-m4")


def test_a_program_without_it_is_refused_there(tmp_path: Path) -> None:
    graph = parse(_sums()).graph
    program = assemble(graph, range(len(graph.ops)), target=find_target("cortex-m4"))
    with pytest.raises(BuildError) as caught:
        compile_only(bundle(program, "net"), "arm-none-eabi", tmp_path, *_FLAGS.split())
    assert "generated for cortex-m4: for this core, generate it with --core any" in str(
        caught.value
    )


def _sums() -> bytes:
    net = plain_net()
    for count in (1, 2, 3, 4, 5, 8, 31):
        for scales in ((0.5, 0.5, 0.5), (0.1, 0.037, 0.08), (0.037, 0.1, 0.08), (1.0, 1e-4, 1.0)):
            for zeros in ((-128, 127, -128), (3, -7, 0)):
                a, b = (
                    net.input((1, 2, 1, count), "int8", scale, zero)
                    for scale, zero in zip(scales[:2], zeros[:2], strict=True)
                )
                for activation in (0, 1, 3):
                    out = net.tensor((1, 2, 1, count), "int8", scales[2], zeros[2])
                    net.add("ADD", (a, b), out, fusedActivationFunction=activation)
    return net.build()


def _pools() -> bytes:
    net = plain_net()
    for channels in (1, 3, 4, 7, 12):
        x = net.input((1, 5, 6, channels), "int8", 0.1, 3)
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            options = {"padding": 1, "fusedActivationFunction": 0}
            for height, width in ((5, 6), (5, 3), (2, 2)):
                out = (1, 5 // height, 6 // width, channels)
                net.add(
                    kind,
                    (x,),
                    net.tensor(out, "int8", 0.1, 3),
                    filterHeight=height,
                    filterWidth=width,
                    strideH=height,
                    strideW=width,
                    **options,
                )
    return net.build()


@pytest.mark.parametrize("core", ["cortex-m55", "any"])
@pytest.mark.parametrize("build", [_sums, _pools])
def test_elementwise(build: object, core: str) -> None:
    assert callable(build)
    assert board_differences(build(), BOARD, target=find_target(core)) == []


@pytest.mark.parametrize("scale", [1.0, 0.0078125, 0.1, 37.5])
def test_floats_to_integers(scale: float) -> None:
    net = plain_net()
    x = net.input((1, 3, 5, 15), "float32")
    for zero in (-128, 127, 3):
        net.add("QUANTIZE", (x,), net.tensor((1, 3, 5, 15), "int8", scale, zero))
    halves = (np.arange(225) - 112.5).astype(np.float32).reshape(1, 3, 5, 15) * np.float32(scale)
    samples = [halves, np.nextafter(halves, np.float32(0)), halves * 3, halves * np.float32(1e5)]
    inputs = [{x: np.ascontiguousarray(values)} for values in samples]
    assert board_differences(net.build(), BOARD, inputs=inputs, target=M55) == []
