"""Which params kernels take, and which numbers fields hold: as lowering and the headers have them."""

from __future__ import annotations

import re

import pytest

from hunting import GENERATORS
from lowtide.commands.options import Options
from lowtide.commands.preparing import prepared
from lowtide.emit.runtime import kernel_files
from lowtide.errors import ModelError, UsageError
from lowtide.lower.nodes import Kernel, Node, Params
from lowtide.machines.board import targets
from lowtide.prove.structs import bits_of, params_of
from lowtide.tflite.read import parse

_KERNEL = re.compile(r"void (lt_\w+)\(const void \*params, const lt_step \*step\);")
_CORES = sorted(targets())


@pytest.mark.parametrize("generator", GENERATORS)
def test_kernels_take_the_params_that_lowering_gives_them(generator: str) -> None:
    for seed in range(6):
        options = Options(target=targets()[_CORES[seed % len(_CORES)]])
        try:
            ready = prepared(parse(GENERATORS[generator](seed), path="drawn"), options)[2]
        except (ModelError, UsageError):
            continue
        for lowered in ready.lowered.values():
            for node in lowered.nodes:
                if isinstance(node, Node):
                    for form in (node, *node.forms):
                        _check(form.kernel, form.params)


def _check(kernel: str, params: Params) -> None:
    assert params_of(kernel) == params.ctype, kernel
    fields = dict(params.fields)
    run, inner = fields.get("run"), fields.get("params")
    if isinstance(run, Kernel) and isinstance(inner, Params):
        _check(run.name, inner)


def test_every_kernel_has_params() -> None:
    kernels = {name for text in kernel_files().values() for name in _KERNEL.findall(text)}
    assert len(kernels) > 150
    assert not [name for name in kernels if not params_of(name)]


def test_fields_have_the_bits_of_their_types() -> None:
    assert bits_of("lt_slide") == {"bytes": 32}
    assert {"pool.in_w": 16, "pool.low": -16, "in_flip": 8}.items() <= bits_of("lt_pool_u8").items()
    assert bits_of("no struct") == {}
