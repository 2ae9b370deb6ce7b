/* SPDX-License-Identifier: Apache-2.0 */
/* lowtide.c: the interpreter of the step program. See lowtide.h. */
#include "lowtide.h"

#include "lt_version.h"
#include "lt_walk.h"

/* All versions define theirs in a group of one name. A linker keeps the first such group, and drops the
 * others whole: the symbol of another version is then defined nowhere. Optimisation at link time puts
 * all of this into one file, where the first counts as well. */
#if defined(__GNUC__) && defined(__ELF__)
#define QUOTED(name) #name
#define TEXT(name) QUOTED(name)
__asm__(".ifndef lt_runtime_is_here\n"
        "    .pushsection .rodata.lt_runtime,\"aG\",%progbits,lt_runtime,comdat\n"
        "lt_runtime_is_here:\n"
        "    .global " TEXT(LT_RUNTIME) "\n"
        "    .type " TEXT(LT_RUNTIME) ", %object\n"
        "    .size " TEXT(LT_RUNTIME) ", 1\n" TEXT(LT_RUNTIME) ":\n"
        "    .byte 0\n"
        "    .popsection\n"
        ".endif");
#else
LT_SHARED const char LT_RUNTIME = 0;
#endif

#ifdef LT_TRACE
LT_SHARED const uint16_t *lt_inner;

LT_SHARED void lt_trace_inner(int which, int row, const void *data, int bytes)
{
    lt_trace(lt_inner[which], row, data, bytes);
}
#endif

LT_SHARED void lt_start(const lt_program *program, lt_position *at, void *net)
{
    uint16_t *next = next_of(program, net);
    at->depth = 0;
    at->turn = 0;
    at->done = 0;
    for (uint16_t count = program->counter_count; count > 0; count--) {
        *next++ = 0;
    }
}

LT_SHARED int lt_run(const lt_program *program, lt_position *at, void *net)
{
    uint8_t **const bases = bases_of(program, net);
    uint16_t *const next = next_of(program, net);
    void **const pointers = pointers_of(program, net);
    while (at->turn < program->turn_count) {
        const lt_turn *turn = &program->turns[at->turn];
        if (turn->node >= LT_LOOP) {
            enter(turn, at);
            continue;
        }
        const lt_node *node = &program->nodes[turn->node];
        if (node->kind >= LT_TAKE) {
            exchange(program, turn, at, next);
            return 1;
        }
        if (node->kind == LT_STRIP) {
            begin_strip(node->params, bases, next);
        } else {
            for (uint16_t left = turn->steps; left > 0; left--) {
                run_step(program, node, next[node->counter]++, bases, pointers);
            }
        }
        advance(program->turns, at);
    }
    return 0;
}

LT_SHARED void *lt_row(const lt_program *program, const lt_position *at, void *net)
{
    const lt_port *port = &program->ports[program->nodes[at->node].ports];
    void *row;
    (void)window(program, port, bases_of(program, net), at->row, &row);
    return row;
}
