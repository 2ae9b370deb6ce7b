/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slice.c: runs in slices. See lt_slice.h. */
#include "lt_slice.h"

#include "lt_walk.h"

/* Where tables lie is found anew for each step: kept, it would take stack in all kernels. */
LT_SHARED int lt_slice_run(const lt_sliced *sliced, lt_position *at, void *net, uint32_t budget)
{
    const lt_program *const program = sliced->program;
    const lt_watch *const watch = sliced->watch;
    int status = LT_OK;
    if (budget == 0) {
        budget = 1;
    }
    if (at->node == LT_NONE) {
        lt_start(program, at, net);
        at->node = 0; /* under way */
    }
    while ((status == LT_OK) && (at->turn < program->turn_count)) {
        const lt_turn *turn = &program->turns[at->turn];
        if (turn->node >= LT_LOOP) {
            enter(turn, at);
            continue;
        }
        const lt_node *node = &program->nodes[turn->node];
        if (node->kind >= LT_TAKE) {
            exchange(program, turn, at, next_of(program, net));
            status = sliced->exchange(program, net);
            continue;
        }
        if (node->kind == LT_STRIP) {
            begin_strip(node->params, bases_of(program, net), next_of(program, net));
        } else {
            const uint32_t cost = sliced->costs[turn->node];
            for (; at->done < turn->steps; at->done++) {
                if (budget == 0) {
                    return LT_MORE;
                }
                budget = (cost < budget) ? (budget - cost) : 0;
                const uint16_t row = next_of(program, net)[node->counter]++;
                run_step(program, node, row, bases_of(program, net), pointers_of(program, net));
                if ((watch != NULL) &&
                    (watch->made(watch->context, watch->operators[turn->node], row) != 0)) {
                    budget = 0;
                }
            }
            at->done = 0;
        }
        advance(program->turns, at);
    }
    at->node = LT_NONE;
    return status;
}
