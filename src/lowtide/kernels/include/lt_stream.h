/* SPDX-License-Identifier: Apache-2.0 */
/* lt_stream.h: runs that stop to exchange rows with their caller.
 *
 * A program with exchanges (LT_GIVE, LT_TAKE) runs from one exchange to the next. It asks a callback for the
 * rows of inputs. If there is only one such input, the caller can instead decide when to give a row, and
 * write each row to its place. Rows of outputs always go to a callback. A callback that returns anything but
 * LT_OK aborts the run.
 *
 * Nothing here waits, allocates or copies, except lt_stream_push_rows, which copies its rows.
 */
#ifndef LT_STREAM_H
#define LT_STREAM_H

#include <stddef.h>

#include "lowtide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write row `row` of input `input` to `to`. The program asks for the rows of each input in order. */
typedef int (*lt_pull)(void *context, int input, int row, void *to);

/* Take row `row` of output `output` from `from`, which is valid only during the call. The rows of each
 * output come in order. */
typedef int (*lt_take)(void *context, int output, int row, const void *from);

/* The position of a run between two rows, and the callbacks. The struct of an instance begins with this. */
typedef struct {
    lt_position at;  /* at.node is LT_NONE while no run is in progress */
    uint16_t wanted; /* rows that the run still needs, of the input whose rows can be pushed */
    lt_pull pull;
    void *pull_context;
    lt_take take;
    void *take_context;
} lt_stream;

/* In all of the following, `net` is an instance of the program. If it is null, is not set up, or lacks a
 * callback that it needs, the functions return LT_ERROR_ARGUMENT or a null pointer. If a callback aborts the
 * run, they return what the callback returned. */

/* Set the callbacks that give and take rows. */
int lt_stream_set_pull(void *net, lt_pull pull, void *context);
int lt_stream_set_take(void *net, lt_take take, void *context);

/* Begin a run. This aborts a run in progress, and computes nothing yet. */
int lt_stream_begin(const lt_program *program, void *net);

/* Run from the beginning to the end. The callbacks give and take all rows. */
int lt_stream_invoke(const lt_program *program, void *net);

/* Returns where to write the next row that the run needs, or a null pointer if it needs none. */
void *lt_stream_next_row(const lt_program *program, void *net);

/* Continue the run after the caller has written the row to the place that lt_stream_next_row returned. It
 * runs as far as this row allows. Returns LT_ERROR_ARGUMENT if the run needs no row. */
int lt_stream_row_done(const lt_program *program, void *net);

/* Give `n` rows of `bytes` bytes each, one after the other in memory, and run as far as they allow. If no
 * run is in progress, this begins one. If the run needs fewer than `n` rows, this does nothing and returns
 * LT_ERROR_ARGUMENT. */
int lt_stream_push_rows(const lt_program *program, void *net, const void *rows, int n,
                        size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
