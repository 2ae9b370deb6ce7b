/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_ring_slice.c: windows that slide in the caller's ring, in slices. See lt_hop_ring_slice.h. */
#include "lt_hop_ring_slice.h"

#include "lt_walk_ring.h"

/* As lt_slice_run, of a run that has begun, of a program without exchanges. */
static int walk_slice(const lt_sliced *sliced, lt_position *at, void *net, uint32_t budget)
{
    const lt_program *const program = sliced->program;
    const lt_watch *const watch = sliced->watch;
    if (budget == 0) {
        budget = 1;
    }
    while (at->turn < program->turn_count) {
        const lt_turn *turn = &program->turns[at->turn];
        if (turn->node >= LT_LOOP) {
            enter(turn, at);
            continue;
        }
        const lt_node *node = &program->nodes[turn->node];
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
    return LT_OK;
}

LT_SHARED int lt_hop_ring_slice_invoke(const lt_ring_hops *hops, const lt_sliced *sliced, void *net,
                                       uint32_t budget)
{
    lt_hop_ring *const m = net;
    if (net == NULL) {
        return LT_ERROR_ARGUMENT;
    }
    int status = LT_OK;
    if (m->stream.at.node == LT_NONE) { /* no run is under way */
        if (m->left == 0) {
            status = lt_hop_ring_begin(hops, net);
        }
        while ((status == LT_OK) && (m->due > 0)) {
            status = lt_hop_ring_pull(hops, net);
            if (status == LT_OK) {
                lt_hop_ring_take(hops, net);
            }
        }
        if (status != LT_OK) {
            return status;
        }
        lt_hop_ring_start(hops, net);
        m->stream.at.node = 0;
    }
    status = walk_slice(sliced, &m->stream.at, net, budget);
    if (status == LT_OK) {
        m->stream.at.node = LT_NONE;
    }
    return (m->left == 0) ? status : LT_MORE;
}
