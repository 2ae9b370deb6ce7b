/* lowtide.c: the interpreter of the step program. See lowtide.h. */
#include "lowtide.h"

#include <stddef.h>

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

/* Fill `to` with the pointers of one port's window at step `step`; return how many. */
static uint16_t window(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                       uint16_t step, void **to)
{
    const lt_rows *cut = &program->rows[port->rows];
    int32_t row = first_row(program, port, step);
    for (uint16_t i = 0; i < port->count; i++, row += port->dilation) {
        to[i] = row < 0 || row >= cut->count ? NULL : place(program, cut, bases, row);
    }
    return port->count;
}

#ifdef LT_TRACE
static const uint16_t *inner; /* of the node that runs */

void lt_trace_inner(int which, int row, const void *data, int bytes)
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
    const lt_kind *kind = &program->kinds[node->kind];
    const lt_port *ports = &program->ports[node->ports];
    uint16_t used = 0;
    lt_step step;
    for (uint8_t p = 0; p < kind->inputs; p++) {
        used = (uint16_t)(used + window(program, &ports[p], bases, number, &pointers[used]));
    }
    ports += kind->inputs;
    step.in = (const void *const *)pointers;
    step.out = (void *const *)&pointers[used];
    for (uint8_t p = 0; p < kind->outputs; p++) {
        used = (uint16_t)(used + window(program, &ports[p], bases, number, &pointers[used]));
    }
    step.scratch = place(program, &program->rows[node->scratch], bases, number);
    step.row = number;
#ifdef LT_TRACE
    inner = program->inner[node - program->nodes];
#endif
    kind->run(node->params, &step);
#ifdef LT_TRACE
    for (uint8_t p = 0; p < kind->outputs; p++) {
        trace(program, &ports[p], bases, number);
    }
#endif
}

void lt_start(const lt_program *program, lt_state *state, uint16_t *next)
{
    state->depth = 0;
    state->turn = 0;
    state->left = 0;
    for (uint16_t i = 0; i < program->counter_count; i++) {
        next[i] = 0;
    }
}

/* Go to the turn after the one at state->turn, around the loops that end there. */
static void advance(lt_state *state)
{
    state->turn++;
    while (state->depth > 0 && state->turn == state->loops[state->depth - 1].end) {
        if (--state->loops[state->depth - 1].left > 0) {
            state->turn = state->loops[state->depth - 1].start;
            return;
        }
        state->depth--;
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

void *lt_run(const lt_program *program, lt_state *state, uint8_t **bases, void **pointers,
             uint16_t *next)
{
    while (state->turn < program->turn_count) {
        const lt_turn *turn = &program->turns[state->turn];
        if (turn->node >= LT_LOOP) {
            state->turn++;
            state->loops[state->depth].start = state->turn;
            state->loops[state->depth].end = (uint16_t)(state->turn + (turn->node - LT_LOOP));
            state->loops[state->depth].left = turn->steps;
            state->depth++;
            continue;
        }
        const lt_node *node = &program->nodes[turn->node];
        if (state->left == 0) {
            state->left = turn->steps;
        }
        if (node->kind >= LT_TAKE) {
            const lt_rows *cut = &program->rows[program->ports[node->ports].rows];
            state->node = turn->node;
            state->row = next[node->counter]++;
            if (--state->left == 0) {
                advance(state);
            }
            return place(program, cut, bases, state->row);
        }
        if (node->kind == LT_STRIP) {
            begin_strip(node->params, bases, next);
            state->left = 0;
            advance(state);
            continue;
        }
        do {
            run_step(program, node, next[node->counter]++, bases, pointers);
        } while (--state->left > 0);
        advance(state);
    }
    return NULL;
}
