"""Callers of streamed programs, in C: rows given in order, one by one or in bunches, and rows taken.

Every row that is asked for or handed over is checked to be the next of its input or output.
"""

from __future__ import annotations

from collections.abc import Sequence

from programs import Sample, c_arena, c_array

from lowtide.commands.compiling import Compiled

OUT_OF_ORDER = 77

CALLER = f"""
/* One inference: where inputs are read and outputs go, and how far each has come, in rows. */
typedef struct {{
    const uint8_t *in[4];
    uint8_t *out[4];
    int in_bytes[4], out_bytes[4]; /* of a row */
    int pulled[4], taken[4];
    int events;                          /* rows exchanged so far */
    int fail_pull, fail_take, status;    /* the event that fails, from 1, and how */
    int last_pull, first_take;           /* events */
}} caller_t;

static int pull(void *context, int input, int row, void *to)
{{
    caller_t *const c = context;
    if (++c->events == c->fail_pull) {{
        return c->status;
    }}
    if (row != c->pulled[input]++) {{
        return {OUT_OF_ORDER};
    }}
    c->last_pull = c->events;
    memcpy(to, c->in[input] + row * c->in_bytes[input], (size_t)c->in_bytes[input]);
    return LT_OK;
}}

static int take(void *context, int output, int row, const void *from)
{{
    caller_t *const c = context;
    if (++c->events == c->fail_take) {{
        return c->status;
    }}
    if (row != c->taken[output]++) {{
        return {OUT_OF_ORDER};
    }}
    c->first_take = c->first_take ? c->first_take : c->events;
    memcpy(c->out[output] + row * c->out_bytes[output], from, (size_t)c->out_bytes[output]);
    return LT_OK;
}}
"""
"""Callbacks for the C of a test."""

BOTH_USED = "    (void)pull;\n    (void)take;\n"
"""The start of a main that may not need both."""


def c_data(prefix: str, samples: Sequence[Sample]) -> str:
    """Arrays PREFIX_in[sample][input] and PREFIX_out[sample][output] of pointers to bytes."""
    text = ""
    for kind in ("in", "out"):
        rows = []
        for s, sample in enumerate(samples):
            parts = sample.inputs if kind == "in" else sample.outputs
            names = [f"{prefix}_{kind}_{s}_{i}" for i in range(len(parts))]
            text += "".join(c_array(n, data) for n, data in zip(names, parts, strict=True))
            rows.append("{" + ", ".join(names) + "}")
        text += f"static const uint8_t *const {prefix}_{kind}[][4] = {{{', '.join(rows)}}};\n"
    return text


def c_run(program: Compiled, data: str, samples: Sequence[Sample]) -> tuple[str, str]:
    """(declarations, body) that run `program` on every sample, in each way there is to give rows.

    Samples are as `c_data` has them under the name `data`. All ways must leave the same outputs.
    """
    name, graph = program.name, program.graph
    options = program.options
    upper, inputs, outputs = name.upper(), len(graph.inputs), len(graph.outputs)
    pulls, takes = options.input_mode == "streamed", options.output_mode == "streamed"
    pushes = pulls and inputs == 1
    declarations = c_arena(f"{name}_arena", name)
    state = ""
    if program.assembly.state_bytes:  # of variables that are only read: what is kept is the same
        state = f", {name}_state, sizeof {name}_state"
        declarations += (
            f"static uint8_t {name}_state[{upper}_STATE_SIZE]"
            f" __attribute__((aligned({upper}_STATE_ALIGN)));\n"
        )
    declarations += "".join(
        f"static uint8_t {name}_got_{i}[{upper}_OUTPUT_{i}_BYTES];\n" for i in range(outputs)
    )

    def sizes(kind: str, count: int, streamed: bool) -> str:
        each = (f"{upper}_{kind}_{i}_ROW_BYTES" for i in range(count))
        return ", ".join(each) if streamed else "0"

    lines = [
        "{",
        f"static {name}_t m;",
        f"memset({name}_arena, 0xA5, sizeof {name}_arena);",
        f"CHECK({name}_init(&m, {name}_arena, sizeof {name}_arena{state}) == LT_OK);",
        f"for (int run = 0; run < {(1 + 2 * pushes) * len(samples)}; run++) {{",
        f"const int s = run % {len(samples)};",
        "caller_t c;",
        "memset(&c, 0, sizeof c);",
        f"const int in_bytes[4] = {{{sizes('INPUT', inputs, pulls)}}};",
        f"const int out_bytes[4] = {{{sizes('OUTPUT', outputs, takes)}}};",
        "memcpy(c.in_bytes, in_bytes, sizeof in_bytes);",
        "memcpy(c.out_bytes, out_bytes, sizeof out_bytes);",
        f"memcpy(c.in, {data}_in[s], sizeof c.in);",
    ]
    lines += [f"c.out[{i}] = {name}_got_{i};" for i in range(outputs)]
    lines += [f"memset({name}_got_{i}, 0x5A, sizeof {name}_got_{i});" for i in range(outputs)]
    if pulls:
        lines.append(f"CHECK({name}_set_pull(&m, pull, &c) == LT_OK);")
    else:
        setter = "{n}_set_input(&m, {i}, c.in[{i}]) == LT_OK"
        if options.input_mode == "resident":
            setter = "memcpy({n}_input(&m, {i}), c.in[{i}], {u}_INPUT_{i}_BYTES) != NULL"
        lines += [f"CHECK({setter.format(n=name, u=upper, i=i)});" for i in range(inputs)]
    if takes:
        lines.append(f"CHECK({name}_set_take(&m, take, &c) == LT_OK);")
    invoke = f"CHECK({name}_invoke(&m) == LT_OK);"
    if pushes:
        invoke = f"""
        if (run < {len(samples)}) {{
            {invoke}
        }} else {{ /* one by one, then in bunches of 1, 2, 3, 1... */
            int done = 0;
            for (int n = 1; done < {upper}_INPUT_0_ROWS; n = n % 3 + 1) {{
                const int left = {upper}_INPUT_0_ROWS - done;
                const int some = run < 2 * {len(samples)} ? 1 : n < left ? n : left;
                CHECK({name}_push_rows(&m, c.in[0] + done * c.in_bytes[0], some) == LT_OK);
                done += some;
                CHECK({name}_rows_wanted(&m) == {upper}_INPUT_0_ROWS - done);
            }}
            c.pulled[0] = done;
        }}"""
    lines.append(invoke)
    if pulls:
        lines += [f"CHECK(c.pulled[{i}] == {upper}_INPUT_{i}_ROWS);" for i in range(inputs)]
    for i in range(outputs):
        if takes:
            lines.append(f"CHECK(c.taken[{i}] == {upper}_OUTPUT_{i}_ROWS);")
        else:
            got = f"{name}_got_{i}"
            lines.append(f"memcpy({got}, {name}_output(&m, {i}), sizeof {got});")
        lines.append(
            f"CHECK(memcmp({name}_got_{i}, {data}_out[s][{i}], sizeof {name}_got_{i}) == 0);"
        )
    return declarations, "\n".join([*lines, "}", "}", ""])
