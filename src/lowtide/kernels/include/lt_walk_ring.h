/* SPDX-License-Identifier: Apache-2.0 */
/* lt_walk_ring.h: lt_walk.h for programs whose input's rows are in a ring (lt_ring.h), and a function that
 * runs them, for lt_hop_ring.c and lt_hop_ring_slice.c. The functions of lowtide.c and lt_slice.c don't
 * support rings, so other programs don't pay for them.
 */
#ifndef LT_WALK_RING_H
#define LT_WALK_RING_H

#include "lt_ring.h"

#define LT_RING
#include "lt_walk.h"

/* Runs to the end, like lt_run, for a program without exchanges. */
static inline void walk_ring(const lt_program *program, lt_position *at, void *net)
{
    uint8_t **const bases = bases_of(program, net);
    uint16_t *const next = next_of(program, net);
    void **const pointers = (void **)(void *)((char *)net + program->pointers);
    while (at->turn < program->turn_count) {
        const lt_turn *turn = &program->turns[at->turn];
        if (turn->node >= LT_LOOP) {
            enter(turn, at);
            continue;
        }
        const lt_node *node = &program->nodes[turn->node];
        if (node->kind == LT_STRIP) {
            begin_strip(node->params, bases, next);
        } else {
            for (uint16_t left = turn->steps; left > 0; left--) {
                run_step(program, node, next[node->counter]++, bases, pointers);
            }
        }
        advance(program->turns, at);
    }
}

#endif
