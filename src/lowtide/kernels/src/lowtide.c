/* lowtide.c: the interpreter of the step program. See lowtide.h. */
#include "lowtide.h"

#include <stddef.h>

static void *place(const lt_program *program, const lt_rows *cut, uint8_t *const *bases,
                   int32_t row)
{
    uint8_t *base = bases[cut->base];
    if (cut->places != NULL) {
        return base + ((uint32_t)cut->places[row] << program->place_shift);
    }
    return base + cut->offset + (uint32_t)row * cut->pitch;
}

/* The first row of a port's window at step `step`. */
static int32_t first_row(const lt_port *port, uint16_t step)
{
    return port->table != NULL ? port->table[step] : port->first + (int32_t)step * port->stride;
}

/* Fill `to` with the pointers of one port's window at step `step`; return how many. */
static uint16_t window(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                       uint16_t step, void **to)
{
    const lt_rows *cut = &program->rows[port->rows];
    int32_t row = first_row(port, step);
    for (uint16_t i = 0; i < port->count; i++, row += port->dilation) {
        to[i] = row < 0 || row >= cut->count ? NULL : place(program, cut, bases, row);
    }
    return port->count;
}

#ifdef LT_TRACE
static void trace(const lt_program *program, const lt_port *port, uint8_t *const *bases,
                  uint16_t step)
{
    const lt_rows *cut = &program->rows[port->rows];
    int32_t row = first_row(port, step);
    for (uint16_t i = 0; i < port->count; i++, row += port->dilation) {
        if (row >= 0 && row < cut->count) {
            lt_trace(cut->tensor, (int)row, place(program, cut, bases, row), (int)cut->bytes);
        }
    }
}
#endif

static void run_step(const lt_program *program, const lt_node *node, uint16_t number,
                     uint8_t *const *bases, void **pointers)
{
    const lt_port *ports = &program->ports[node->ports];
    uint16_t used = 0;
    lt_step step;
    for (uint8_t p = 0; p < node->inputs; p++) {
        used = (uint16_t)(used + window(program, &ports[p], bases, number, &pointers[used]));
    }
    ports += node->inputs;
    step.in = (const void *const *)pointers;
    step.out = (void *const *)&pointers[used];
    for (uint8_t p = 0; p < node->outputs; p++) {
        used = (uint16_t)(used + window(program, &ports[p], bases, number, &pointers[used]));
    }
    step.scratch = place(program, &program->rows[node->scratch], bases, number);
    step.row = number;
    node->kernel(node->params, &step);
#ifdef LT_TRACE
    for (uint8_t p = 0; p < node->outputs; p++) {
        trace(program, &ports[p], bases, number);
    }
#endif
}

void lt_run(const lt_program *program, uint8_t *const *bases, void **pointers, uint16_t *next)
{
    struct {
        uint16_t start, end, left;
    } loops[LT_DEPTH];
    uint8_t depth = 0;
    uint16_t at = 0;
    for (uint16_t i = 0; i < program->node_count; i++) {
        next[i] = 0;
    }
    while (at < program->turn_count) {
        const lt_turn *turn = &program->turns[at++];
        if (turn->node >= LT_LOOP) {
            loops[depth].start = at;
            loops[depth].end = (uint16_t)(at + (turn->node - LT_LOOP));
            loops[depth].left = turn->steps;
            depth++;
            continue;
        }
        for (uint16_t i = 0; i < turn->steps; i++) {
            run_step(program, &program->nodes[turn->node], next[turn->node]++, bases, pointers);
        }
        while (depth > 0 && at == loops[depth - 1].end) {
            if (--loops[depth - 1].left > 0) {
                at = loops[depth - 1].start;
                break;
            }
            depth--;
        }
    }
}
