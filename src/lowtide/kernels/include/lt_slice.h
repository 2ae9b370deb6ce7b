/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slice.h: runs in slices, so that a watchdog is fed and other tasks have their turn in between.
 *
 * A slice runs steps until what they cost, in instructions as the compiler predicted them, reaches its
 * budget: at least one, and less than one more than the budget is for. Nothing is computed twice, and
 * nothing that a run computes depends on where it is cut.
 */
#ifndef LT_SLICE_H
#define LT_SLICE_H

#include "lowtide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who watches a run: `made` is told of each step which operator made a row, from the table `operators`
 * (-1: rows were moved), and the number of the row, or of the step that the operator came to. Anything but
 * 0 ends the slice. */
typedef struct {
    int (*made)(void *context, int op, int row);
    void *context;
    const int16_t *operators;
} lt_watch;

/* A program that can run in slices: what a step of each of its nodes costs, and, if it has exchanges, what
 * makes the one that the run stopped at. It returns LT_OK, or anything but LT_MORE to give up the run. And
 * who watches, or null. */
typedef struct {
    const lt_program *program;
    const uint32_t *costs;
    int (*exchange)(const lt_program *program, void *net);
    const lt_watch *watch;
} lt_sliced;

/* Run a slice of the instance `net`: LT_MORE, or LT_OK at the end of the run, or what an exchange
 * returned. `at` is kept from one call to the next; if at->node is LT_NONE, a new run begins. */
int lt_slice_run(const lt_sliced *sliced, lt_position *at, void *net, uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
