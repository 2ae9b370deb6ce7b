/* lowtide.c: the interpreter of the step program. See lowtide.h. */
#include "lowtide.h"

#include <stddef.h>

/* Fill `to` with the pointers of one port's window at step `step`; return how many. */
static uint16_t window(const lt_rows *rows, const lt_port *port, uint8_t *const *bases,
                       uint16_t step, void **to)
{
    const lt_rows *cut = &rows[port->rows];
    int32_t row = port->table ? port->table[step] : port->first + (int32_t)step * port->stride;
    uint8_t *base = bases[cut->base] + cut->offset;
    for (uint16_t i = 0; i < port->count; i++, row += port->dilation) {
        to[i] = row < 0 || row >= cut->count ? NULL : base + (uint32_t)row * cut->pitch;
    }
    return port->count;
}

static void run_turn(const lt_program *program, const lt_turn *turn, uint8_t *const *bases,
                     void **pointers)
{
    const lt_node *node = &program->nodes[turn->node];
    const lt_port *ports = &program->ports[node->ports];
    for (uint16_t i = 0; i < turn->steps; i++) {
        uint16_t row = (uint16_t)(turn->first + i);
        uint16_t used = 0;
        uint16_t inputs = 0;
        for (uint8_t p = 0; p < node->inputs + node->outputs; p++) {
            if (p == node->inputs) {
                inputs = used;
            }
            used = (uint16_t)(used + window(program->rows, &ports[p], bases, row, &pointers[used]));
        }
        lt_step step;
        step.in = (const void *const *)pointers;
        step.out = (void *const *)&pointers[inputs];
        step.scratch = bases[0] + node->scratch;
        step.row = row;
        node->kernel(node->params, &step);
#ifdef LT_TRACE
        for (uint8_t p = node->inputs; p < node->inputs + node->outputs; p++) {
            const lt_rows *cut = &program->rows[ports[p].rows];
            int32_t first = ports[p].table ? ports[p].table[row]
                                           : ports[p].first + (int32_t)row * ports[p].stride;
            for (uint16_t k = 0; k < ports[p].count; k++) {
                int32_t at = first + (int32_t)k * ports[p].dilation;
                if (at >= 0 && at < cut->count) {
                    lt_trace(cut->tensor, at,
                             bases[cut->base] + cut->offset + (uint32_t)at * cut->pitch,
                             (int)cut->pitch);
                }
            }
        }
#endif
    }
}

void lt_run(const lt_program *program, uint8_t *const *bases, void **pointers)
{
    for (uint16_t i = 0; i < program->turn_count; i++) {
        run_turn(program, &program->turns[i], bases, pointers);
    }
}
