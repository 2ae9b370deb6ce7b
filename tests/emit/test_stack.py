"""The bound of a program's stack: of all kernels, and read rightly from what objdump prints."""

from __future__ import annotations

from dataclasses import replace

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from bench.stack.__main__ import KERNEL
from bench.stack.calls import depths, read_object
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.emit.header import modes
from lowtide.emit.runtime import kernel_files
from lowtide.emit.stack import compiler, stack_bytes, tables
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from networks import compiled
from schema_models import Net

_ARM = """
00000000 <inner>:
   0:\tb5f0      \tpush\t{r4, r5, r6, r7, lr}
   2:\tb083      \tsub\tsp, #12
   4:\t4770      \tbx\tlr

00000000 <outer>:
   0:\te92d 4ff0 \tstmdb\tsp!, {r4, r5, r6, r7, r8, r9, sl, fp, lr}
   4:\ted2d 8b10 \tvpush\t{d8-d15}
   8:\tf7ff fffe \tbl\t0 <inner>
\t\t\t8: R_ARM_THM_CALL\tinner

00000000 <chooses>:
   0:\tb510      \tpush\t{r4, lr}
   2:\t4798      \tblx\tr3
"""
_RISCV = """
00000000 <inner>:
   0:\t7179                \tadd\tsp,sp,-48

00000030 <.L2>:
  30:\t8082                \tret

00000000 <outer>:
   0:\t1101                \taddi\tsp,sp,-32
   2:\t00000097          \tauipc\tra,0x0
\t\t\t2: R_RISCV_CALL\tinner
   6:\t000080e7          \tjalr\tra # 2 <outer+0x2>
"""
_HOLDS = """RELOCATION RECORDS FOR [.rodata.table]:
OFFSET   TYPE              VALUE
00000000 R_ARM_ABS32       outer
"""


def test_frames_and_calls_add_up() -> None:
    found = depths([read_object("a.c", _ARM, _HOLDS)])
    assert found == {"inner": 32, "outer": 36 + 64 + 32, "chooses": 8 + 36 + 64 + 32}
    assert depths([read_object("a.c", _RISCV, "")]) == {"inner": 48, "outer": 80}


def test_every_kernel_is_in_the_tables() -> None:
    kernels = {name for text in kernel_files().values() for name in KERNEL.findall(text)}
    assert len(kernels) > 100
    for core, table in tables().items():
        assert not kernels - table.keys(), core


def test_kernels_that_call_each_other_add_up() -> None:
    """Image by image, weights of nine bits, one channel of each after the other, and a kernel of one."""
    net = Net(np.uint8, 0.05, 128)
    x = net.input((2, 9, 9, 8))
    values = np.random.default_rng(5).integers(0, 256, (1, 5, 5, 16))
    values[..., ::2] //= 2  # of all others, weights have nine bits
    weights = net.const(values, np.uint8, quant=(0.01, 3))
    bias = net.const(np.zeros(16), quant=(0.0005, 0))
    options = schema.DepthwiseConv2DOptionsT(strideW=1, strideH=1, depthMultiplier=2)
    net.op("DEPTHWISE_CONV_2D", [x, weights, bias], (2, 9, 9, 16), options=options, quant=(0.1, 1))
    board = Options(target=find_target("cortex-m4"), simplify=False)
    program = compile_model(parse(net.build(), path="nested"), board)
    text, table = program.files[f"{program.name}.c"].decode(), tables()["cortex-m4"]
    chain = (
        "lt_images_row",
        "lt_w9_s8_row",
        "lt_depthwise_each_s8_row",
        "lt_depthwise_columns_s8_row",
    )
    assert all(kernel in text for kernel in chain)
    bound = stack_bytes(program.assembly, "lowtide.h")
    assert 0 <= bound - sum(table[name] for name in ("lowtide.h", *chain)) < 8


def test_the_header_and_the_readme_state_it() -> None:
    on_any, on_one = (
        compiled("figure1"),
        compiled("figure1", Options(target=find_target("cortex-m4"))),
    )
    for program in (on_any, on_one):
        bound = stack_bytes(program.assembly, modes(program.assembly).header)
        text = program.files[f"{program.name}.h"].decode()
        assert f"#define {program.name.upper()}_STACK_BYTES {bound}\n" in text
        assert compiler() in text
        assert f"| stack | {bound} |" in program.files["README.md"].decode()
        neediest = replace(program.assembly, target=replace(program.assembly.target, core="none"))
        assert bound <= stack_bytes(neediest, modes(neediest).header)
