/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slice.h: runs in slices, so that you can feed a watchdog and run other tasks in between.
 *
 * A slice runs steps until their cost, in instructions as the compiler predicted them, reaches its budget.
 * It runs at least one step, and exceeds the budget by less than one step. Nothing is computed twice, and
 * the results do not depend on where a run is cut.
 */
#ifndef LT_SLICE_H
#define LT_SLICE_H

#include "lowtide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A callback that observes a run. After each step, the runtime calls `made` with the operator that made a
 * row, from the table `operators`, and the number of the row or of the operator's step. The operator is -1
 * if the step moved rows. If `made` returns anything but 0, the slice ends. */
typedef struct {
    int (*made)(void *context, int op, int row);
    void *context;
    const int16_t *operators;
} lt_watch;

/* A program that can run in slices. `costs` has the cost of a step of each node. `exchange`, if the program
 * has exchanges, makes the exchange at which the run stopped. It returns LT_OK to continue, or any other
 * value but LT_MORE to abort the run. `watch` is the callback that observes the run, or null. */
typedef struct {
    const lt_program *program;
    const uint32_t *costs;
    int (*exchange)(const lt_program *program, void *net);
    const lt_watch *watch;
} lt_sliced;

/* Run a slice of the instance `net`. Returns LT_MORE if the run is not finished, LT_OK at its end, or what
 * `exchange` returned. Keep `at` between calls. If at->node is LT_NONE, a new run begins. */
int lt_slice_run(const lt_sliced *sliced, lt_position *at, void *net, uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
