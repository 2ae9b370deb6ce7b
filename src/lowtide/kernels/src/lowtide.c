/* SPDX-License-Identifier: Apache-2.0 */
/* lowtide.c: the interpreter of the step program. See lowtide.h. */
#include "lowtide.h"

#include <stddef.h>

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

static uint8_t **bases_of(const lt_program *program, void *net)
{
    return (uint8_t **)(void *)((char *)net + program->bases);
}

static uint16_t *next_of(const lt_program *program, void *net)
{
    return (uint16_t *)(void *)((char *)net + program->next);
}

static void *place(const lt_program *program, const lt_rows *cut, uint8_t *const *bases,
                   int32_t row)
{
    uint8_t *base = bases[cut->base] + cut->offset;
    if (cut->apart) {
        return base + ((uint32_t)program->places[cut->pitch + (uint32_t)row]
                       << program->place_shift);
    }
    return base + (uint32_t)row * cut->pitch;
}

/* The first row of a port's window at step `step`. */
static int32_t first_row(const lt_program *program, const lt_port *port, uint16_t step)
{
    if (port->table != LT_NONE) {
        return program->tables[port->table + (uint32_t)step];
    }
    return port->first + (int32_t)step * port->stride;
}

/* Fill `to` with the pointers of one port's window at step `step`; return where the next one's go. */
static void **window(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                     uint16_t step, void **to)
{
    const lt_rows *cut = &program->rows[port->rows];
    int32_t row = first_row(program, port, step);
    for (uint16_t i = port->count; i > 0; i--, row += port->dilation) {
        *to++ = row < 0 || row >= cut->count ? NULL : place(program, cut, bases, row);
    }
    return to;
}

#ifdef LT_TRACE
static const uint16_t *inner; /* of the node that runs */

LT_SHARED void lt_trace_inner(int which, int row, const void *data, int bytes)
{
    lt_trace(inner[which], row, data, bytes);
}

static void trace(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                  uint16_t step)
{
    const lt_rows *cut = &program->rows[port->rows];
    const struct lt_traced *of = &program->traced[port->rows];
    int32_t row = first_row(program, port, step);
    for (uint16_t i = 0; i < port->count; i++, row += port->dilation) {
        if (row >= 0 && row < cut->count) {
            lt_trace(of->tensor, (int)row, place(program, cut, bases, row), (int)of->bytes);
        }
    }
}
#endif

static void run_step(const lt_program *program, const lt_node *node, uint16_t number,
                     uint8_t *const *bases, void **pointers)
{
    const lt_kind *const kind = &program->kinds[node->kind];
    const lt_port *port = &program->ports[node->ports];
    const lt_port *const outputs = port + kind->inputs;
    const lt_port *const end = outputs + kind->outputs;
    lt_step step;
    step.in = (const void *const *)pointers;
    step.out = pointers;
    for (; port < end; port++) {
        if (port == outputs) {
            step.out = pointers;
        }
        pointers = window(program, port, bases, number, pointers);
    }
    step.scratch = place(program, &program->rows[node->scratch], bases, number);
    step.row = number;
#ifdef LT_TRACE
    inner = program->inner[node - program->nodes];
#endif
    kind->run(node->params, &step);
#ifdef LT_TRACE
    for (port = outputs; port < end; port++) {
        trace(program, port, bases, number);
    }
#endif
}

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

/* Go to the turn after the one under way, around the loops that end there. */
static void advance(const lt_turn *turns, lt_position *at)
{
    for (at->turn++; at->depth > 0; at->depth--) {
        lt_loop *const loop = &at->loops[at->depth - 1];
        if (at->turn != loop->first + (turns[loop->first - 1].node - LT_LOOP)) {
            return;
        }
        if (--loop->left > 0) {
            at->turn = loop->first;
            return;
        }
    }
}

static void begin_strip(const lt_strip *strip, uint8_t **bases, uint16_t *next)
{
    for (uint16_t i = 0; i < strip->shift_count; i++) {
        const lt_shift *shift = &strip->shifts[i];
        bases[shift->base] = bases[shift->from] + shift->offset;
    }
    for (uint16_t i = 0; i < strip->counter_count; i++) {
        next[strip->counter + i] = 0;
    }
}

LT_SHARED int lt_run(const lt_program *program, lt_position *at, void *net)
{
    uint8_t **const bases = bases_of(program, net);
    uint16_t *const next = next_of(program, net);
    void **const pointers = (void **)(void *)((char *)net + program->pointers);
    while (at->turn < program->turn_count) {
        const lt_turn *turn = &program->turns[at->turn];
        if (turn->node >= LT_LOOP) {
            lt_loop *const loop = &at->loops[at->depth++];
            loop->first = ++at->turn;
            loop->left = turn->steps;
            continue;
        }
        const lt_node *node = &program->nodes[turn->node];
        if (node->kind >= LT_TAKE) {
            at->node = turn->node;
            at->row = next[node->counter]++;
            if (++at->done == turn->steps) {
                at->done = 0;
                advance(program->turns, at);
            }
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
