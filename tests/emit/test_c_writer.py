"""Names and literals in generated C: a compiler reads back exactly what was meant."""

from __future__ import annotations

import re
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assembled import assemble
from lowtide.emit.c_writer import write
from lowtide.emit.names import c_name, check_name
from lowtide.emit.runtime import kernel_files
from lowtide.errors import LowtideError, UsageError
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.lower.nodes import Array, CType, Node, Params, Value
from lowtide.machines.toolchain import WARNINGS
from lowtide.program.assemble import Assembly


def _assembly(*params: Params, name: str = "t0") -> Assembly:
    """A program of nodes with these params, and nothing else."""
    quant = Quant((0.5,), (0,), 0)
    tensors = tuple(Tensor(i, name, (1, 4), DType.INT8, quant) for i in range(2))
    add = Op(0, "ADD", (0, 0), (1,), {"fused_activation_function": 0})
    program = assemble(Graph("main", tensors, (add,), (0,), (1,)), (0,))
    (entry,) = program.kernels
    nodes = tuple(
        replace(entry, node=Node(0, "lt_fake_row", "lt_fake.h", p, (), (), 1)) for p in params
    )
    return replace(program, rows=(), ports=(), nodes=nodes, turns=())


def _params(**fields: Value) -> Params:
    return Params("lt_fake", tuple(fields.items()))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("resnet8", "resnet8"),
        ("MobileNet-v1 0.25 (96).quant", "mobilenet_v1_0_25_96_quant"),
        ("2nd", "m_2nd"),
        ("__x__", "x"),
        ("int", "m_int"),
        ("While", "m_while"),
        ("Ünïcode", "n_code"),
        ("...", "model"),
        ("", "model"),
        ("ネット", "model"),
    ],
)
def test_names_are_made_from_file_names(text: str, name: str) -> None:
    assert c_name(text) == name
    assert check_name(name) == name


# NAME_t, NAME_init and the like must not be what <stdint.h>, <stddef.h> or the runtime declare.
TAKEN = ["int8", "uint8", "int16", "int32", "uint32", "int64", "size", "ptrdiff", "wchar", "intptr"]


@pytest.mark.parametrize("text", TAKEN)
def test_names_of_the_standard_headers_are_taken(text: str) -> None:
    assert c_name(text) != text
    with pytest.raises(UsageError):
        check_name(text)


# All headers of C99, and those of POSIX that lie in no folder of their own.
SYSTEM = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool
stddef stdint stdio stdlib string tgmath time wchar wctype
aio cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen monetary mqueue ndbm netdb
nl_types poll pthread pwd regex sched search semaphore spawn strings stropts syslog tar termios trace
ulimit unistd utime utmpx wordexp endian features
"""


@pytest.mark.parametrize("name", SYSTEM.split())
def test_headers_of_the_system_are_taken(name: str) -> None:
    assert c_name(name) == f"m_{name}"
    assert check_name(f"m_{name}") == f"m_{name}"
    for shown in (name, name.upper(), name.capitalize()):  # on some disks, these are one file
        with pytest.raises(UsageError) as caught:
            check_name(shown)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["net", "Net2", "a_b", "INT", "m_int", "lot", "x_t"])
def test_good_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "9x", "a-b", "a b", "_x", "int", "inline", "ünicode", "a.b", "x\n"),
        *("lt_net", "lowtide", "lt", "LT", "Lt_net", "LOWTIDE", "Lowtide"),
    ],
)
def test_bad_names(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_name(name)
    assert caught.value.exit_code == 2
    assert caught.value.remedy


INTEGERS: dict[CType, list[int]] = {
    "int8_t": [-128, -1, 0, 127],
    "uint8_t": [0, 255],
    "int16_t": [-32768, 32767],
    "uint16_t": [0, 65535],
    "int32_t": [-(1 << 31), 1 - (1 << 31), -1, 0, (1 << 31) - 1],
    "int64_t": [-(1 << 63), 1 - (1 << 63), -(1 << 31), 1 << 31, (1 << 63) - 1],
}
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -2.0,
    0.1,
    1 / 3,
    1e-45,
    1.17549435e-38,
    3.4028235e38,
    16777216.0,
    1e10,
    1e-7,
]


def _compile(folder: Path, code: str, main: str, fields: str) -> str:
    """What a program prints that includes the generated `code`; it has the struct lt_fake."""
    header = '#include "lowtide.h"\n#include <stddef.h>\n#include <stdint.h>\n'
    header += f"typedef struct {{ {fields} }} lt_fake;\n"
    (folder / "lt_fake.h").write_text(header)
    for name, text in kernel_files().items():
        if name.endswith(".h"):
            (folder / name).write_text(text)
    generated = write(_assembly(), "net").header
    (folder / "net.h").write_text(generated)
    # What is looked at are constants; the tables and functions below them are left out.
    constants = re.split(r"^static const lt_\w+ net_(?!params_)", code, flags=re.MULTILINE)[0]
    (folder / "main.c").write_text(
        f"{constants}\n#include <inttypes.h>\n#include <stdio.h>\nint main(void)\n{{\n{main}\n}}\n"
    )
    flags = ["-std=c99", *WARNINGS, "-Werror"]
    command = ["gcc", *flags, "main.c", "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        ["./program"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("ctype", INTEGERS)
def test_integer_arrays_are_read_back(ctype: CType, tmp_path: Path) -> None:
    values = INTEGERS[ctype]
    code = write(_assembly(_params(a=Array(ctype, np.array(values)))), "net").code
    main = f"for (int i = 0; i < {len(values)}; i++) {{"
    main += ' printf("%" PRId64 "\\n", (int64_t)net_params_0.a[i]); } return 0;'
    assert list(map(int, _compile(tmp_path, code, main, f"const {ctype} *a;").split())) == values


def test_floats_are_read_back_to_the_bit(tmp_path: Path) -> None:
    params = _params(a=Array("float", np.array(FLOATS, np.float32)), b=0.1, c=3.0, d=1e30)
    code = write(_assembly(params), "net").code
    count = len(FLOATS)
    main = f"""const lt_fake *p = &net_params_0;
    const float fields[] = {{p->b, p->c, p->d}};
    for (int i = 0; i < {count + 3}; i++) {{
        union {{ float f; uint32_t u; }} bits = {{ i < {count} ? p->a[i] : fields[i - {count}] }};
        printf("%08" PRIx32 "\\n", bits.u);
    }}
    return 0;"""
    printed = _compile(tmp_path, code, main, "const float *a; float b, c, d;").split()
    assert printed == [struct.pack(">f", value).hex() for value in (*FLOATS, 0.1, 3.0, 1e30)]


def test_fields_are_read_back(tmp_path: Path) -> None:
    least = -(1 << 31)
    params = _params(a=least, b=least + 1, c=(1 << 31) - 1, d=-128, e=True, f=65535, g=None)
    code = write(_assembly(params), "net").code
    fields = "int32_t a, b, c; int8_t d; uint8_t e; uint16_t f; const int8_t *g;"
    main = 'const lt_fake *p = &net_params_0; printf("%d %d %d %d %d %d %d\\n", p->a, p->b, p->c, p->d,'
    main += " p->e, p->f, p->g == NULL); return 0;"
    expected = f"{least} {least + 1} {(1 << 31) - 1} -128 1 65535 1\n"
    assert _compile(tmp_path, code, main, fields) == expected


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_c_has_no_literal_for_is_refused(value: float) -> None:
    with pytest.raises(LowtideError, match=r"inf|nan"):
        write(_assembly(_params(a=value)), "net")


def test_equal_arrays_are_written_once() -> None:
    one = Array("int8_t", np.arange(3), weights=True)
    same = Array("int8_t", np.arange(3), weights=True)
    wider = Array("int16_t", np.arange(3))
    empty = Array("int32_t", np.array([], np.int32))
    code = write(_assembly(_params(a=one, b=same), _params(a=wider, b=empty)), "net").code
    assert code.count("net_weights_0[3] NET_WEIGHTS_PLACED = {") == 1
    assert code.count("= net_weights_0,") == 2
    assert "static const int16_t net_const_1[3] = {" in code
    assert "static const int32_t net_const_2[1] = {" in code  # C has no empty arrays


def test_arrays_of_equal_bytes_and_other_lengths_are_two() -> None:
    """One word of 64 bits is two of 32: a kernel that wants two must not get the array of one."""
    one = Array("int32_t", np.array([1], np.int64))
    two = Array("int32_t", np.array([1, 0], np.int32))
    assert one.values.dtype == two.values.dtype == np.int32
    code = write(_assembly(_params(a=one, b=two)), "net").code
    assert "net_const_0[1] = {" in code
    assert "net_const_1[2] = {" in code


@pytest.mark.parametrize(("ctype", "value"), [("int8_t", 128), ("uint8_t", -1), ("int32_t", 0.5)])
def test_values_that_the_type_cannot_hold_are_no_array(ctype: CType, value: float) -> None:
    with pytest.raises(OverflowError, match=f"a constant has a value that does not fit {ctype}"):
        Array(ctype, np.array([0, value]))


def test_equal_params_are_written_once() -> None:
    """Equal in their arrays too, and of one type: a node's number is in no other name."""
    params = [_params(a=Array("int8_t", np.array([value])), b=1) for value in (1, 2, 1, 2)]
    other = Params("lt_other", _params(a=1).fields)
    code = write(_assembly(*params, _params(a=1), other), "net").code
    assert re.findall(r"^static const (\w+) (net_params_\d) = ", code, re.MULTILINE) == [
        ("lt_fake", "net_params_0"),
        ("lt_fake", "net_params_1"),
        ("lt_fake", "net_params_4"),
        ("lt_other", "net_params_5"),
    ]
    used = re.findall(r"&(net_params_\d),", code)
    assert [int(name[-1]) for name in used] == [0, 1, 0, 1, 4, 5]


def test_lines_are_not_too_long() -> None:
    values = np.random.default_rng(1).integers(-(1 << 31), 1 << 31, 3000)
    code = write(_assembly(_params(a=Array("int32_t", values))), "net").code
    assert max(map(len, code.splitlines())) <= 105
    assert [int(x) for x in re.findall(r"-?\d+(?=,)", code.partition("{")[2])[:3000]] == list(
        values
    )


@pytest.mark.parametrize("name", ["*/ int x; /*", "a\nb", "trigraph ??/", "ünï", "\\", "a" * 5000])
def test_a_tensors_name_cannot_break_out_of_its_comment(name: str, tmp_path: Path) -> None:
    code = write(_assembly(_params(a=1), name=name), "net").code
    assert code.isascii()
    assert _compile(tmp_path, code, 'printf("%d", net_params_0.a); return 0;', "int32_t a;") == "1"
