"""The functions that callers of a program use, declared in NAME.h.

Why so little of it: what they do when rows are streamed is C of its own (lt_stream.c), which they call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from lowtide.emit.header import modes
from lowtide.program.assemble import Assembly
from lowtide.rows.bases import FIRST_INPUT


def functions(assembly: Assembly, name: str, constants: str, initial: Mapping[int, str]) -> str:
    """The functions of NAME.h. `constants` is the C expression of their address, `initial` the names
    of arrays that variables start with."""
    how = modes(assembly)
    parts = [
        _reset(assembly, name, initial),
        _init(assembly, name, constants),
        *_inputs(assembly, name),
        *_outputs(assembly, name),
        *(_stream(assembly, name) if how.stops else [_invoke(assembly, name)]),
        *([_slice(assembly, name)] if how.slices else []),
    ]
    return "\n\n".join(parts)


def hops(assembly: Assembly, name: str) -> list[str]:
    """What a window that slides is, for lt_hop.h; nothing for other programs."""
    if assembly.graph.hop is None:
        return []
    ring = assembly.ring > 0
    sizes = "INPUT_0_ROWS", "HOP_ROWS", *(["RING_ROWS"] * ring), "INPUT_0_ROW_BYTES"
    values = ", ".join(f"{name.upper()}_{size}" for size in sizes)
    ctype = "lt_ring_hops" if ring else "lt_hops"
    return [f"static const {ctype} {name}_hops = {{&{name}_program, {values}}};"]


def _init(assembly: Assembly, name: str, constants: str) -> str:
    upper, how = name.upper(), modes(assembly)
    state = bool(assembly.variables)
    lines = [
        f"int {name}_init({name}_t *m, void *arena, size_t size"
        + (", void *state, size_t state_size)" if state else ")"),
        "{",
        f"    if ((m == NULL) || (arena == NULL){' || (state == NULL)' if state else ''}) {{",
        "        return LT_ERROR_ARGUMENT;",
        "    }",
        f"    if ((size < (size_t){upper}_ARENA_SIZE) ||",
        f"        (((uintptr_t)arena % (uintptr_t){upper}_ARENA_ALIGN) != 0U)) {{",
        "        return LT_ERROR_ARENA;",
        "    }",
    ]
    if state:
        lines += [
            f"    if ((state_size < (size_t){upper}_STATE_SIZE) ||",
            f"        (((uintptr_t)state % (uintptr_t){upper}_STATE_ALIGN) != 0U) ||",
            f"        (((uintptr_t)state < ((uintptr_t)arena + (uintptr_t){upper}_ARENA_SIZE)) &&",
            f"         ((uintptr_t)arena < ((uintptr_t)state + (uintptr_t){upper}_STATE_SIZE)))) {{",
            "        return LT_ERROR_STATE;",
            "    }",
        ]
    lines += ["    m->bases[0] = arena;", f"    m->bases[1] = {constants};"]
    if how.const:
        lines += [
            f"    m->bases[{FIRST_INPUT + i}] = NULL;" for i in range(len(assembly.graph.inputs))
        ]
    lines += [f"    m->bases[{assembly.state_base}] = state;"] * state
    lines += ["    m->hop.rows = NULL;"] * how.ring
    lines += [f"    m->{how.stream}.pull = NULL;"] * how.pulled
    lines += [f"    m->{how.stream}.take = NULL;"] * how.given
    lines += ["    m->at.node = LT_NONE;"] * (how.slices and not how.stops)
    end = f"lt_stream_begin(&{name}_program, m)" if how.stops else "LT_OK"
    if state or how.hops:
        end = f"{name}_reset(m)"
    return "\n".join([*lines, f"    return {end};", "}"])


def _reset(assembly: Assembly, name: str, initial: Mapping[int, str]) -> str:
    how = modes(assembly)
    begin = f"lt_stream_begin(&{name}_program, m)"
    if how.hops:
        begin = f"{how.runtime}_reset(&{name}_hops, m)"
    kept = how.slices and not how.stops
    if not assembly.variables and not kept:
        done = begin
        if not how.stops:
            done = "((m == NULL) || (m->bases[0] == NULL)) ? LT_ERROR_ARGUMENT : LT_OK"
        return f"int {name}_reset({name}_t *m)\n{{\n    return {done};\n}}"
    lines = [
        f"int {name}_reset({name}_t *m)",
        "{",
        "    if ((m == NULL) || (m->bases[0] == NULL)) {",
        "        return LT_ERROR_ARGUMENT;",
        "    }",
        *["    m->at.node = LT_NONE;"] * kept,
        *_starts(assembly, initial),
        f"    return {begin if how.stops else 'LT_OK'};",
        "}",
    ]
    return "\n".join(lines)


def _starts(assembly: Assembly, initial: Mapping[int, str]) -> list[str]:
    """The state put to its start: neighbours of one value at once, and what is between them."""
    state = f"m->bases[{assembly.state_base}]"
    lines = []
    variables = [v for v in assembly.variables if v.size]
    for same, run in groupby(variables, key=lambda v: (v.initial is None, v.fill)):
        if not same[0]:
            lines += [
                f"    (void)memcpy({state} + {v.offset}, {initial[v.tensor]}, {v.size});"
                for v in run
            ]
            continue
        first, *others = run
        last = others[-1] if others else first
        size = last.offset + last.size - first.offset
        lines.append(f"    (void)memset({state} + {first.offset}, {first.fill}, {size});")
    return lines


def program_fields(assembly: Assembly, name: str) -> dict[str, str]:
    """The fields of lt_program that are about the instance and what it exchanges."""
    how, upper = modes(assembly), name.upper()
    gives = how.pulled and not how.ring
    return {
        **{array: f"offsetof({name}_t, {array})" for array in ("bases", "next", "pointers")},
        "row_count": _row_count(assembly, upper) if how.pushes and gives else "0",
        "exchanges": " | ".join(["LT_GIVES"] * gives + ["LT_TAKES"] * how.given) or "0",
    }


def _row_count(assembly: Assembly, upper: str) -> str:
    return f"{upper}_INPUT_0_ROWS" if assembly.graph.hop is None else f"{upper}_HOP_ROWS"


def _inputs(assembly: Assembly, name: str) -> list[str]:
    graph, how = assembly.graph, modes(assembly)
    if how.pulled:
        return [_setter(name, "pull"), *([_ring(name)] if how.ring else [])]
    if how.const:
        return [
            f"""\
int {name}_set_input({name}_t *m, int i, const void *data)
{{
    if ((m == NULL) || (data == NULL) || (i < 0) || (i >= {len(graph.inputs)})) {{
        return LT_ERROR_ARGUMENT;
    }}
    /* Inputs are only read; the cast is for the one type of all bases. */
    m->bases[{FIRST_INPUT} + i] = (uint8_t *)(uintptr_t)data;
    return LT_OK;
}}"""
        ]
    places = _pointers(assembly.given[t] for t in graph.inputs)
    return [_getter(f"void *{name}_input({name}_t *m, int i)", places)]


def _outputs(assembly: Assembly, name: str) -> list[str]:
    if modes(assembly).given:
        return [_setter(name, "take")]
    places = _pointers(assembly.left[t] for t in assembly.graph.outputs)
    return [_getter(f"const void *{name}_output(const {name}_t *m, int i)", places)]


def _setter(name: str, what: str) -> str:
    return f"""\
int {name}_set_{what}({name}_t *m, {name}_{what}_t {what}, void *context)
{{
    return lt_stream_set_{what}(m, {what}, context);
}}"""


def _ring(name: str) -> str:
    return f"""\
int {name}_set_ring({name}_t *m, void *ring, int rows, int next)
{{
    return lt_hop_ring_set(&{name}_hops, m, ring, rows, next);
}}"""


def _missing(assembly: Assembly, *more: str) -> str:
    """What an instance lacks that cannot run, `more` besides, as a condition in C."""
    inputs = range(len(assembly.graph.inputs) if modes(assembly).const else 0)
    null = ["m", *(f"m->bases[{FIRST_INPUT + i}]" for i in inputs), *more]
    return " || ".join(f"({pointer} == NULL)" for pointer in null) if null[1:] else "m == NULL"


def _invoke(assembly: Assembly, name: str) -> str:
    """NAME_invoke of a program that runs to its end at once."""
    kept = "    m->at.node = LT_NONE;\n" if modes(assembly).slices else ""
    return f"""\
int {name}_invoke({name}_t *m)
{{
    if ({_missing(assembly, "m->bases[0]")}) {{
        return LT_ERROR_ARGUMENT;
    }}
{kept}    lt_position at;
    lt_start(&{name}_program, &at, m);
    (void)lt_run(&{name}_program, &at, m);
    return LT_OK;
}}"""


def _slice(assembly: Assembly, name: str) -> str:
    """NAME_invoke_some and NAME_invoke_watched."""
    how = modes(assembly)
    stops = how.stops
    call = "lt_slice_run({}, &m->at, m, budget)"
    needed, exchange = () if stops else ("m->bases[0]",), "NULL"
    if stops:
        call, exchange = "lt_slice_stream_invoke({}, m, budget)", "lt_slice_stream_exchange"
    if how.hops:
        call = f"{how.runtime}_slice_invoke(&{name}_hops, {{}}, m, budget)"
        exchange = "NULL" if how.ring else f"{how.runtime}_slice_exchange"
    sliced = f"&{name}_program, {name}_costs, {exchange}"
    return f"""\
static const lt_sliced {name}_sliced = {{{sliced}, NULL}};

int {name}_invoke_some({name}_t *m, uint32_t budget)
{{
    if ({_missing(assembly, *needed)}) {{
        return LT_ERROR_ARGUMENT;
    }}
    return {call.format(f"&{name}_sliced")};
}}

int {name}_invoke_watched({name}_t *m, uint32_t budget, {name}_made_t made, void *context)
{{
    const lt_watch watch = {{made, context, {name}_operators}};
    const lt_sliced watched = {{{sliced}, &watch}};
    if ({_missing(assembly, *needed, "made")}) {{
        return LT_ERROR_ARGUMENT;
    }}
    return {call.format("&watched")};
}}"""


def _stream(assembly: Assembly, name: str) -> list[str]:
    """The functions of a program that stops for rows."""

    hops, runtime = modes(assembly).hops, modes(assembly).runtime
    what = "hops" if hops else "program"

    def call(declaration: str, function: str, *more: str) -> str:
        given = ", ".join([f"&{name}_{what}", "m", *more])
        return f"{declaration}\n{{\n    return {runtime}_{function}({given});\n}}"

    invoke = call(f"int {name}_invoke({name}_t *m)", "invoke")
    if modes(assembly).const:
        check = f"    if ({_missing(assembly)}) {{\n        return LT_ERROR_ARGUMENT;\n    }}\n"
        invoke = invoke.replace("{\n", "{\n" + check, 1)
    if not modes(assembly).pushes:
        return [invoke]
    wanted = f"""\
int {name}_rows_wanted(const {name}_t *m)
{{
    return (m == NULL) ? 0 : m->{"hop.left" if hops else "stream.wanted"};
}}"""
    bytes_each = () if hops else (f"{name.upper()}_INPUT_0_ROW_BYTES",)
    return [
        invoke,
        call(f"int {name}_begin({name}_t *m)", "begin"),
        wanted,
        call(f"void *{name}_next_row({name}_t *m)", "next_row"),
        call(f"int {name}_row_done({name}_t *m)", "row_done"),
        call(
            f"int {name}_push_rows({name}_t *m, const void *rows, int n)",
            "push_rows",
            "rows",
            "n",
            *bytes_each,
        ),
    ]


def _pointers(places: Iterable[tuple[int, int]]) -> list[str]:
    return [f"m->bases[{base}] + {offset}" for base, offset in places]


def _getter(signature: str, places: Iterable[str]) -> str:
    lines = [signature, "{"]
    lines += ["    if ((m == NULL) || (m->bases[0] == NULL)) {", "        return NULL;", "    }"]
    lines.append("    switch (i) {")
    for i, place in enumerate(places):
        lines += [f"    case {i}:", f"        return {place};"]
    return "\n".join([*lines, "    default:", "        return NULL;", "    }", "}"])
