"""The README that goes with a bundle: how to build it, call it, and what memory it needs."""

from __future__ import annotations

from collections.abc import Iterable

from lowtide.emit.bundle import listed
from lowtide.emit.footprint import constants
from lowtide.emit.header import modes
from lowtide.emit.misra import DEVIATIONS
from lowtide.emit.one_core import Gain, paragraph
from lowtide.emit.origin import Origin
from lowtide.emit.stack import compiler, stack_bytes
from lowtide.ir import Tensor
from lowtide.program.assemble import Assembly


def readme(
    assembly: Assembly,
    name: str,
    files: Iterable[str],
    preserve_input: bool,
    saved: tuple[Gain, ...],
    proved: str,
    origin: Origin,
) -> str:
    """Markdown text about a program and the `files` of its bundle; `saved` is what one for a core would,
    `proved` a paragraph on what is proved of this one, which is from `origin`.

    Figures are exact where they say so, and computed, not measured.
    """
    graph, upper = assembly.graph, name.upper()
    weights = sum(size for is_weights, size in constants(assembly) if is_weights)
    tables = sum(size for is_weights, size in constants(assembly) if not is_weights)
    how = modes(assembly)
    if how.const:
        inputs = f"""Inputs stay where they are: set each one's address with `{name}_set_input`.
The program only reads them."""
        give = "\n".join(
            f"    {name}_set_input(&net, {i}, input_{i});" for i in range(len(graph.inputs))
        )
    elif how.pulled:
        where, written = (
            ("its place in your ring", "wait until the next row is in your ring, at")
            if how.ring
            else ("the address that it gets", "write the next row, by DMA for example, to")
        )
        pushed = f"""
Or give rows as they arrive:

    {name}_begin(&net);
    while ({name}_rows_wanted(&net) > 0) {{
        /* {written} {name}_next_row(&net) */
        {name}_row_done(&net); /* computes what this row allows */
    }}

`{name}_push_rows(&net, rows, n)` does the same for rows elsewhere in memory, which it copies."""
        inputs = f"""The program asks for the rows of the inputs, in order, as it needs them. Your
callback writes each row to {where}.{pushed if how.pushes else ""}"""
        if graph.hop is not None:
            inputs += f"""

The input is a sliding window. The program first needs all of its {graph.hop.rows} rows, then
{graph.hop.new} for each run. The outputs are those of the latest rows. If a row is lost, call
`{name}_reset(&net)`."""
        give = f"    {name}_set_pull(&net, your_pull, your_context); /* once */"
        if how.ring:
            inputs += _ring(assembly.ring, name)
            give = f"    {name}_set_ring(&net, your_ring, {upper}_RING_ROWS, 0); /* once */\n{give}"
    else:
        kept = (
            "An input keeps its contents."
            if preserve_input
            else f"""`{name}_invoke` **overwrites the inputs**, because it reuses their memory after
reading them. Write them before each call (or compile with `--preserve-input`)."""
        )
        where = f"`{name}_input(&net, i)` returns their address."
        inputs = f"Inputs are buffers in the arena; {where}\n{kept}"
        give = "\n".join(
            f"    memcpy({name}_input(&net, {i}), input_{i}, {upper}_INPUT_{i}_BYTES);"
            for i in range(len(graph.inputs))
        )
    if how.given:
        give += f"\n    {name}_set_take(&net, your_take, your_context); /* once */"
        read = "    /* your_take gets the outputs' rows, in order, as they are made */"
        outputs = """Your callback receives the rows of the outputs as they are made. The program
doesn't keep them."""
    else:
        read = f"    /* then read {name}_output(&net, 0), {upper}_OUTPUT_0_BYTES bytes */"
        outputs = """Outputs are in the arena. They are valid until the next call, or until you write
to an input."""
    shapes = "\n".join(
        f"| {kind} {i} | {_type(graph.tensors[t])}{_note(assembly, kind, i)} | "
        f"{graph.tensors[t].bytes} |"
        for kind, tensors in (("input", graph.given), ("output", graph.outputs))
        for i, t in enumerate(tensors)
    )
    state, more = ("", "") if not assembly.variables else _state(assembly, name)
    given = ", state, sizeof state" if assembly.variables else ""
    return f"""# {name}

C99 code of one network, made by lowtide. It allocates no memory and keeps everything in the memory
that you give it, so one program can contain several networks, or several instances of one.

{build(set(files) - {f"{name}.c", f"{name}.h"})}
## Call

    #include "{name}.h"

    static {name}_t net;
    static uint8_t arena[{upper}_ARENA_SIZE] {upper}_ARENA_PLACED;
{state}
    {name}_init(&net, arena, sizeof arena{given}); /* once; returns LT_OK on success */
{give}
    {name}_invoke(&net);
{read}

{inputs}
{outputs}
{more}
| | type and shape | bytes |
| --- | --- | ---: |
{shapes}

## Memory

| | bytes | |
| --- | ---: | --- |
| arena | {assembly.arena_bytes} | exact for {_target(assembly)}; tensors and scratch memory |
{_state_rows(assembly)}| `{name}_t` | | `sizeof({name}_t)`; `lowtide run` counts it as bss |
| stack | {stack_bytes(assembly, how.header)} | at most, compiled by {compiler()}; without callbacks |
| weights, in flash | {weights} | exact |
| tables of constants, in flash | {tables} | exact, without the step program |
| code and step program, in flash | | depends on the compiler; measure it with `lowtide run` |

To place weights or the arena elsewhere, compile with the names of sections from your linker script:

    -D{upper}_WEIGHTS_SECTION='".qspi"' -D{upper}_ARENA_SECTION='".bss.dtcm"'
{paragraph(saved)}
## Proof

{proved}

{origin.section()}
## Licence

The runtime and the generated code are under Apache-2.0 (`LICENSE`). The constants in `{name}.c` come
from the model and are under its licence: `LicenseRef-model` in the SPDX line.
"""


def _ring(rows: int, name: str) -> str:
    """What is said of a window in the caller's ring."""
    return f"""

The rows stay in your memory, in a ring of at least {rows} rows, {name.upper()}_RING_ROWS. The program
reads the newest {rows} there, and copies none. `{name}_set_ring` states where the ring is, and which of
its rows comes next. You don't need a callback if all rows that a run wants are there when you call
`{name}_invoke`."""


def build(kernels: Iterable[str]) -> str:
    """The section of a README on how to build a folder that has these kernels among its files."""
    return f"""\
## Build

Compile every `.c` file in this folder with your program, for example:

    cc -std=c99 -O2 -ffunction-sections -fdata-sections -c *.c

Link with `-Wl,--gc-sections`. One program can contain several bundles, in one folder or in several
folders, as objects or as libraries. The linker takes the runtime only once. If it reports that
`lt_runtime_of_all_must_be_...` is undefined or was discarded, the bundles come from different versions
of lowtide. Generate all of them with the same version.

{listed(kernels)}

`{DEVIATIONS}` lists each line that deviates from MISRA C:2012, with the reason. cppcheck reads it; the
command is at its top.
"""


def _state(assembly: Assembly, name: str) -> tuple[str, str]:
    """Where it is declared in the example of a call, and what a user must know of it."""
    upper = name.upper()
    declared = (
        f"    static uint8_t state[{upper}_STATE_SIZE]"
        f" __attribute__((aligned({upper}_STATE_ALIGN)));\n"
    )
    count = len(assembly.variables)
    size = sum(v.size for v in assembly.variables)
    room = assembly.state_bytes - size
    more = (
        f" `state` also has {room} bytes of working space, mainly for newest rows." if room else ""
    )
    return (
        declared,
        f"""
## State

From one call to the next, the network keeps {count} tensor{"s" * (count > 1)}, \
{size} bytes in all; `{name}.h` lists them.
They are in `state`, apart from the arena.{more}

- `{name}_init` and `{name}_reset(&net)` set them to their initial values. The latter keeps callbacks and
  inputs, and aborts a run in progress.
- Between two calls, after you read the outputs, you can use the arena for something else, such as
  another network or a buffer. Keep `state`. Networks can share one arena, each with its own state:

      static uint8_t arena[MAX(A_ARENA_SIZE, B_ARENA_SIZE)] __attribute__((aligned(16)));
      a_init(&a, arena, sizeof arena, a_state, sizeof a_state);
      b_init(&b, arena, sizeof arena, b_state, sizeof b_state);
      /* write a's inputs, a_invoke, read a's outputs; then b's; then a's again */

- After a call that doesn't return LT_OK, or a run that doesn't finish, the state is undefined until
  you call `{name}_reset`.
- To keep the state over a deep sleep, copy `state` away, and copy it back after `{name}_init`.
""",
    )


def _state_rows(assembly: Assembly) -> str:
    """The state in the table of memory."""
    if not assembly.variables:
        return ""
    both = assembly.arena_bytes + assembly.state_bytes
    return (
        f"| state | {assembly.state_bytes} | exact; kept from one call to the next |\n"
        f"| arena and state | {both} | |\n"
    )


def _target(assembly: Assembly) -> str:
    """What the figures hold for."""
    core = assembly.target.core
    return "any core (sized for the most demanding core)" if core == "any" else f"a {core}"


def _note(assembly: Assembly, kind: str, number: int) -> str:
    note = assembly.notes.get((kind.upper(), number))
    return "" if note is None else f"; {note}"


def _type(tensor: Tensor) -> str:
    text = f"{tensor.dtype.name} {list(tensor.shape)}"
    if tensor.quant is not None and len(tensor.quant.scale) == 1:
        text += f", real = {tensor.quant.scale[0]:.9g} * (q - {tensor.quant.zero_point[0]})"
    return text
