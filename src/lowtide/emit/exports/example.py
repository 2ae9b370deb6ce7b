"""The example of a package: made-up inputs, a few runs, all outputs printed.

The same text for every build system but for how it begins and how it prints, and the same numbers:
inputs come from a small generator, so that what it prints can be compared from board to board.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lowtide.emit.exports.package import SPDX_C, Package
from lowtide.emit.header import Modes, modes, streamed_rows
from lowtide.ir import DType

RUNS: Final = 3
"""How often the example runs the network."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """How an example begins (`head`), prints a text and a long, and where it is called from (`tail`)."""

    head: str
    text: str
    number: str
    tail: str


STDIO: Final = Surroundings(
    "#include <stdio.h>",
    "(void)fputs(text, stdout);",
    '(void)printf("%ld", number);',
    """\
int main(void)
{
    return example() == LT_OK ? 0 : 1;
}""",
)
ESP_IDF: Final = Surroundings(
    STDIO.head,
    STDIO.text,
    STDIO.number,
    """\
void app_main(void);

void app_main(void)
{
    (void)example();
}""",
)
ZEPHYR: Final = Surroundings(
    "#include <zephyr/kernel.h>\n#include <zephyr/sys/printk.h>",
    'printk("%s", text);',
    'printk("%ld", number);',
    """\
int main(void)
{
    (void)example();
    return 0;
}""",
)
ARDUINO: Final = Surroundings(
    "#include <Arduino.h>",
    "Serial.print(text);",
    "Serial.print(number);",
    """\
void setup()
{
    Serial.begin(115200);
}

void loop()
{
    (void)example();
    delay(1000);
}""",
)

_BYTE: Final = "(long)next_byte() - 128"
# Made-up elements of each type, as C. Indices and truths are 0 or 1.
_MADE: Final = {
    DType.INT8: _BYTE,
    DType.UINT8: "next_byte()",
    DType.INT16: f"256 * ({_BYTE}) + (long)next_byte()",
    DType.FLOAT32: f"(float)({_BYTE}) / 128.0f",
}
_SMALL: Final = "next_byte() >> 7"


def example(package: Package, around: Surroundings) -> str:
    """C99 that is C++11 as well."""
    name, assembly = package.name, package.assembly
    upper, graph, how = name.upper(), assembly.graph, modes(assembly)
    inputs = range(len(graph.inputs))
    kinds = sorted({graph.tensors[t].dtype for t in graph.inputs}, key=lambda d: d.name)
    outputs = sorted({graph.tensors[t].dtype for t in graph.outputs}, key=lambda d: d.name)
    state = bool(assembly.variables)
    parts = [
        f"""{SPDX_C}/* Feeds {name} with made-up inputs, runs it {RUNS} times, and prints the outputs.
 * To use your own inputs, replace the calls of fill_... */
{around.head}

#include "{name}.h"

static {name}_t net;
static uint8_t arena[{upper}_ARENA_SIZE] {upper}_ARENA_PLACED;""",
        *[
            f"/* The network's state: keep it from run to run. */\n"
            f"static uint8_t state[{upper}_STATE_SIZE] "
            f"__attribute__((aligned({upper}_STATE_ALIGN)));"
        ]
        * state,
        *[
            f"static {upper}_INPUT_{i}_TYPE input_{i}[{upper}_INPUT_{i}_ELEMENTS];"
            for i in inputs
            if how.const
        ],
        *[
            f"static {upper}_INPUT_0_TYPE ring[{upper}_RING_ROWS * "
            f"({_row_elements(package, 'INPUT', 0)})];"
            for _ in range(how.ring)
        ],
        f"""\
static void put_text(const char *text)
{{
    {around.text}
}}

static void put_number(long number)
{{
    {around.number}
}}""",
        *[_GENERATOR] * bool(kinds),
        *(_fill(kind) for kind in kinds),
        *(_print(kind) for kind in outputs),
        *([_pull(package)] if how.pulled and not how.pushes else []),
        *([_take(package)] if how.given else []),
        _body(package, how),
        around.tail,
    ]
    return "\n\n".join(parts) + "\n"


_GENERATOR: Final = """\
/* A generator that gives the same numbers on every board. */
static uint32_t seed = 1;

static uint8_t next_byte(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint8_t)(seed >> 24);
}"""

_TYPES: Final = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.FLOAT32: "float",
}


def _type(kind: DType) -> str:
    return _TYPES.get(kind, "uint8_t")


def _fill(kind: DType) -> str:
    ctype = _type(kind)
    return f"""\
static void fill_{kind.name.lower()}(void *to, long elements)
{{
    {ctype} *at = ({ctype} *)to;
    for (; elements > 0; elements--) {{
        *at++ = ({ctype})({_MADE.get(kind, _SMALL)});
    }}
}}"""


def _print(kind: DType) -> str:
    ctype = _type(kind)
    number, note = "(long)*at++", ""
    if kind is DType.FLOAT32:
        number, note = "(long)(*at++ * 1000.0f)", "/* In thousandths. */\n"
    return f"""\
{note}static void print_{kind.name.lower()}(const void *from, long elements)
{{
    const {ctype} *at = (const {ctype} *)from;
    for (; elements > 0; elements--) {{
        put_text(" ");
        put_number({number});
    }}
    put_text("\\n");
}}"""


def _pull(package: Package) -> str:
    graph = package.assembly.graph
    cases = [
        f"    if (input == {i}) {{\n        fill_{graph.tensors[t].dtype.name.lower()}(to, "
        f"{_row_elements(package, 'INPUT', i)});\n    }}"
        for i, t in enumerate(graph.given)
    ]
    return "\n".join(
        [
            "/* Gives a row of an input when the network asks for it. */",
            "static int pull(void *context, int input, int row, void *to)",
            "{",
            "    (void)context;",
            "    (void)row;",
            *cases,
            "    return LT_OK;",
            "}",
        ]
    )


def _take(package: Package) -> str:
    graph = package.assembly.graph
    cases = [
        f"    if (output == {i}) {{\n        print_{graph.tensors[t].dtype.name.lower()}(from, "
        f"{_row_elements(package, 'OUTPUT', i)});\n    }}"
        for i, t in enumerate(graph.outputs)
    ]
    return "\n".join(
        [
            "/* Takes a row of an output when it is made. */",
            "static int take(void *context, int output, int row, const void *from)",
            "{",
            "    (void)context;",
            '    put_text("output ");',
            "    put_number(output);",
            '    put_text(", row ");',
            "    put_number(row);",
            '    put_text(":");',
            *cases,
            "    return LT_OK;",
            "}",
        ]
    )


def _row_elements(package: Package, kind: str, i: int) -> str:
    upper = package.name.upper()
    rows = streamed_rows(package.assembly)
    assert (kind, i) in rows
    return f"{upper}_{kind}_{i}_ELEMENTS / {upper}_{kind}_{i}_ROWS"


def _body(package: Package, how: Modes) -> str:
    name, assembly = package.name, package.assembly
    upper, graph = name.upper(), assembly.graph
    given = ", state, sizeof state" if assembly.variables else ""
    lines = [f"    int status = {name}_init(&net, arena, sizeof arena{given});"]
    calls: list[str] = []
    if how.const:
        calls += [f"{name}_set_input(&net, {i}, input_{i})" for i in range(len(graph.inputs))]
    if how.ring:
        calls.append(f"{name}_set_ring(&net, ring, {upper}_RING_ROWS, 0)")
    if how.pulled and not how.pushes:
        calls.append(f"{name}_set_pull(&net, pull, NULL)")
    if how.given:
        calls.append(f"{name}_set_take(&net, take, NULL)")
    for call in calls:
        lines += ["    if (status == LT_OK) {", f"        status = {call};", "    }"]
    lines += [f"    for (int run = 0; run < {RUNS} && status == LT_OK; run++) {{"]
    lines += ['        put_text("run ");', "        put_number(run);", '        put_text("\\n");']
    for i, tensor in enumerate(graph.inputs):
        fill = f"fill_{graph.tensors[tensor].dtype.name.lower()}"
        if how.const:
            lines.append(f"        {fill}(input_{i}, {upper}_INPUT_{i}_ELEMENTS);")
        elif not how.pulled:
            lines.append(f"        {fill}({name}_input(&net, {i}), {upper}_INPUT_{i}_ELEMENTS);")
    if how.pushes:
        fill = f"fill_{graph.tensors[graph.inputs[0]].dtype.name.lower()}"
        lines += [
            "        /* Give rows as they arrive; each call computes as far as they allow. */",
            f"        status = {name}_begin(&net);",
            f"        while (status == LT_OK && {name}_rows_wanted(&net) > 0) {{",
            f"            {fill}({name}_next_row(&net), {_row_elements(package, 'INPUT', 0)});",
            f"            status = {name}_row_done(&net);",
            "        }",
        ]
    else:
        lines.append(f"        status = {name}_invoke(&net);")
    lines += ["        if (status != LT_OK) {", "            break;", "        }"]
    if not how.given:
        for i, tensor in enumerate(graph.outputs):
            kind = graph.tensors[tensor].dtype.name.lower()
            lines += [
                f'        put_text("output {i}:");',
                f"        print_{kind}({name}_output(&net, {i}), {upper}_OUTPUT_{i}_ELEMENTS);",
            ]
    lines += [
        "    }",
        "    if (status != LT_OK) {",
        '        put_text("failed: ");',
        "        put_number(status);",
        '        put_text("\\n");',
        "    }",
        "    return status;",
    ]
    return "\n".join(["static int example(void)", "{", *lines, "}"])
