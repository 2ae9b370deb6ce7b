/* SPDX-License-Identifier: Apache-2.0 */
/* lt_walk.h: how to run a step program, for the files that do this: lowtide.c and lt_slice.c.
 *
 * These functions are private to the file that includes them, so that each file compiles as one piece.
 */
#ifndef LT_WALK_H
#define LT_WALK_H

#include <stddef.h>

#include "lowtide.h"

static uint8_t **bases_of(const lt_program *program, void *net)
{
    return (uint8_t **)(void *)((char *)net + program->bases);
}

static uint16_t *next_of(const lt_program *program, void *net)
{
    return (uint16_t *)(void *)((char *)net + program->next);
}

static inline void **pointers_of(const lt_program *program, void *net)
{
    return (void **)(void *)((char *)net + program->pointers);
}

/* Returns the bits of a row's number that count, with its code, in the list of places: see lt_rows. */
static inline uint32_t far_of(const lt_rows *cut)
{
    return (cut->apart == LT_FAR) ? ~(uint32_t)0xFF : 0U;
}

static void *place(const lt_program *program, const lt_rows *cut, uint8_t *const *bases,
                   int32_t row)
{
    uint8_t *base = bases[cut->base] + cut->offset;
    if (cut->apart != 0U) {
        const uint32_t code = program->codes[(cut->pitch & 0xFFFFU) + (uint32_t)row];
        const uint32_t at = (cut->pitch >> 16) + ((uint32_t)row & far_of(cut)) + code;
        return base + ((uint32_t)program->places[at] << program->place_shift);
    }
    return base + (uint32_t)row * cut->pitch;
}

/* Returns the first row of a port's window at step `step`. */
static int32_t first_row(const lt_program *program, const lt_port *port, uint16_t step)
{
    if (port->table != LT_NONE) {
        return program->tables[port->table + (uint32_t)step];
    }
    return port->first + (int32_t)step * port->stride;
}

#ifdef LT_RING
/* Like `window`, for rows in a ring: fills `to` up to `end` with `row` and every `next`-th row after it. */
static void **window_in_ring(const lt_rows *cut, uint8_t *const *bases, uint32_t row, uint32_t next,
                             void **to, void *const *end)
{
    const lt_ring *const ring = (const void *)bases[LT_RING_BASE + 1];
    uint8_t *const base = bases[cut->base];
    for (; to != end; row += next) {
        uint32_t at = cut->offset + (row * cut->pitch);
        if (at < ring->first) {
            at = ring->first;
        }
        uint8_t *const found = (at < ring->room) ? (base + at) : (base - (ring->size - at));
        *to++ = (row < cut->count) ? found : NULL;
    }
    return to;
}
#endif

/* Fills `to` with the pointers of one port's window at step `step`. Returns where the next port's go. */
static void **window(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                     uint16_t step, void **to)
{
    const lt_rows *cut = &program->rows[port->rows];
    uint32_t row = (uint32_t)first_row(program, port, step), rows = cut->count, next = port->dilation;
#ifdef LT_RING
    if (cut->apart == LT_IN_RING) {
        return window_in_ring(cut, bases, row, next, to, to + port->count);
    }
#endif
    uint8_t *base = bases[cut->base] + cut->offset;
    void **end = to + port->count;
    if (cut->apart != 0U) {
        const uint16_t *const places = program->places + (cut->pitch >> 16);
        const uint8_t *const codes = program->codes + (cut->pitch & 0xFFFFU);
        const uint32_t far = far_of(cut), shift = program->place_shift;
        for (; to != end; row += next) {
            *to++ = (row < rows) ? (base + ((uint32_t)places[(row & far) + codes[row]] << shift)) : NULL;
        }
    } else {
        uint32_t pitch = cut->pitch, at = row * pitch;
        for (; to != end; row += next, at += next * pitch) {
            *to++ = (row < rows) ? (base + at) : NULL;
        }
    }
    return to;
}

#ifdef LT_TRACE
extern const uint16_t *lt_inner; /* the tensors of the node that runs: see lt_trace_inner */

static void trace(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                  uint16_t step)
{
    const lt_rows *cut = &program->rows[port->rows];
    const struct lt_traced *of = &program->traced[port->rows];
    int32_t row = first_row(program, port, step);
    for (uint16_t i = 0; i < port->count; i++, row += port->dilation) {
        if (row >= 0) { /* only outputs are traced: there is nothing beyond their last row */
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
    lt_inner = program->inner[node - program->nodes];
#endif
    kind->run(node->params, &step);
#ifdef LT_TRACE
    for (port = outputs; port < end; port++) {
        trace(program, port, bases, number);
    }
#endif
}

/* Goes to the turn after the current one, and repeats or leaves the loops that end there. */
static void advance(const lt_turn *turns, lt_position *at)
{
    for (at->turn++; at->depth > 0; at->depth--) {
        lt_loop *const loop = &at->loops[at->depth - 1];
        if (at->turn != (loop->first + (turns[loop->first - 1].node - LT_LOOP))) {
            return;
        }
        if (--loop->left > 0) {
            at->turn = loop->first;
            return;
        }
    }
}

/* Enters the loop whose entry is the current turn. */
static inline void enter(const lt_turn *turn, lt_position *at)
{
    lt_loop *const loop = &at->loops[at->depth++];
    at->turn++;
    loop->first = at->turn;
    loop->left = turn->steps;
}

/* Stores in `at` which row the current turn exchanges, and moves on. */
static inline void exchange(const lt_program *program, const lt_turn *turn, lt_position *at, uint16_t *next)
{
    at->node = turn->node;
    at->row = next[program->nodes[at->node].counter]++;
    if (++at->done == turn->steps) {
        at->done = 0;
        advance(program->turns, at);
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

#endif
