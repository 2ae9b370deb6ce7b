"""Hand-written bundles for the tests of boards: tiny models whose every figure is known.

Why by hand: what the machinery measures must be checked against facts, not against generated code.
"""

from __future__ import annotations

from collections.abc import Sequence

# Two instructions per turn on Arm and on RISC-V, whatever the compiler would make of C.
LOOP = """
static void turn(unsigned long count)
{
#if defined(__arm__)
    __asm__ volatile(".syntax unified\\n1: subs %0, %0, #1\\n bne 1b" : "+l"(count) : : "cc");
#elif defined(__riscv)
    __asm__ volatile("1: addi %0, %0, -1\\n bnez %0, 1b" : "+r"(count));
#else
    (void)count;
#endif
}
"""


def bundle(
    invoke: str = "",
    *,
    globals_: str = "",
    init: str = "",
    name: str = "tiny",
    arena: int = 64,
    inputs: Sequence[int] = (4,),
    outputs: Sequence[int] = (4,),
    fields: str = "",
) -> dict[str, bytes]:
    """A model of `arena` bytes: inputs from the arena's start, then outputs; bodies of its functions.

    In the bodies, `in` and `out` are the first input and output, as bytes.
    """
    upper = name.upper()
    sizes = [(f"INPUT_{i}_BYTES", size) for i, size in enumerate(inputs)]
    sizes += [(f"OUTPUT_{i}_BYTES", size) for i, size in enumerate(outputs)]
    sizes += [("ARENA_SIZE", arena), ("ARENA_ALIGN", 16)]
    sizes += [("INPUTS", len(inputs)), ("OUTPUTS", len(outputs))]
    defines = "\n".join(f"#define {upper}_{key} {size}" for key, size in sizes)
    starts = [sum((*inputs, *outputs)[:i]) for i in range(len(inputs) + len(outputs) + 1)]
    offsets = ", ".join(map(str, starts))
    header = f"""#ifndef {upper}_H
#define {upper}_H
#include <stddef.h>
#include <stdint.h>
{defines}
typedef struct {{ uint8_t *arena; {fields} }} {name}_t;
int {name}_init({name}_t *m, void *arena, size_t size);
void *{name}_input({name}_t *m, int i);
const void *{name}_output(const {name}_t *m, int i);
int {name}_invoke({name}_t *m);
#endif
"""
    source = f"""#include "{name}.h"
#include <string.h>
{globals_}
static const uint16_t {name}_offsets[] = {{{offsets}}};
int {name}_init({name}_t *m, void *arena, size_t size)
{{
    m->arena = (uint8_t *)arena;
    {init}
    return size < {upper}_ARENA_SIZE ? 1 : 0;
}}
void *{name}_input({name}_t *m, int i) {{ return m->arena + {name}_offsets[i]; }}
const void *{name}_output(const {name}_t *m, int i)
{{
    return m->arena + {name}_offsets[{upper}_INPUTS + i];
}}
int {name}_invoke({name}_t *m)
{{
    const uint8_t *in = m->arena;
    uint8_t *out = m->arena + {name}_offsets[{upper}_INPUTS];
    (void)in;
    (void)out;
    {invoke}
    return 0;
}}
"""
    return {f"{name}.h": header.encode(), f"{name}.c": source.encode()}


# out = in + 1, byte by byte.
INCREMENT = "for (int i = 0; i < 4; i++) { out[i] = (uint8_t)(in[i] + 1); }"


def looping(turns: int) -> dict[str, bytes]:
    """INCREMENT, and a loop of 2 * `turns` instructions."""
    return bundle(f"turn({turns}ul); {INCREMENT}", globals_=LOOP)


def deep(size: int) -> str:
    """A body that uses `size` bytes of stack, every one written."""
    return f"""volatile uint8_t deep[{size}];
    for (int i = 0; i < {size}; i++) {{ deep[i] = 1; }}
    (void)deep[3];
"""


def stacking(size: int, arena: int = 64) -> dict[str, bytes]:
    """INCREMENT, with a little more than `size` bytes of stack."""
    return bundle(deep(size) + INCREMENT, arena=arena)


def outside(size: int, arena: int = 64) -> dict[str, bytes]:
    """A model that is told where its input of `size` bytes is; its output is their sum."""
    body = f"for (int i = 0; i < {size}; i++) {{ sum += m->given[i]; }} memcpy(out, &sum, 4);"
    model = bundle(f"uint32_t sum = 0; {body}", inputs=(size,), arena=arena)
    header = model["tiny.h"].decode().replace("*arena; ", "*arena; const uint8_t *given;", 1)
    getter = "void *tiny_input(tiny_t *m, int i)"
    setter = "int tiny_set_input(tiny_t *m, int i, const void *data)"
    source = model["tiny.c"].decode().replace(f"+ {size}", "")
    source = source.replace(f"{{0, {size}, {size + 4}}}", "{0, 0, 4}")
    source = source.replace(
        f"{getter} {{ return m->arena + tiny_offsets[i]; }}",
        f"{setter} {{ m->given = (const uint8_t *)data; return i; }}",
    )
    return {"tiny.h": header.replace(getter, setter).encode(), "tiny.c": source.encode()}
