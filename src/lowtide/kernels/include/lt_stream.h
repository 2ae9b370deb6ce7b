/* SPDX-License-Identifier: Apache-2.0 */
/* lt_stream.h: runs that stop for rows which the caller gives or takes.
 *
 * A program with exchanges (LT_GIVE, LT_TAKE) runs from one to the next. Rows of inputs are asked for
 * with a callback while a run goes on by itself; or, if one input is all there is to give, the caller
 * says when, and writes each row to where it belongs. Rows of outputs always go to a callback. A
 * callback that returns anything but LT_OK gives up the run.
 *
 * Nothing here waits, allocates or copies, but lt_stream_push_rows, which copies what it is given.
 */
#ifndef LT_STREAM_H
#define LT_STREAM_H

#include <stddef.h>

#include "lowtide.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write row `row` of input `input` to `to`. The rows of each input are asked for in order. */
typedef int (*lt_pull)(void *context, int input, int row, void *to);

/* Take row `row` of output `output` from `from`, where it is during the call only. The rows of each
 * output come in order. */
typedef int (*lt_take)(void *context, int output, int row, const void *from);

/* Where a run is between two rows, and the callbacks. The struct of an instance begins with this. */
typedef struct {
    lt_position at;  /* at.node is LT_NONE while it is not under way */
    uint16_t wanted; /* rows that the run still needs, of the input whose rows may be pushed */
    lt_pull pull;
    void *pull_context;
    lt_take take;
    void *take_context;
} lt_stream;

/* In all that follows, `net` is an instance of the program. LT_ERROR_ARGUMENT, or null, is returned if
 * it is null, not set up, or lacks a callback that it needs; and what a callback returned, if that
 * gave up the run. */

/* Say who gives rows, and who takes them. */
int lt_stream_set_pull(void *net, lt_pull pull, void *context);
int lt_stream_set_take(void *net, lt_take take, void *context);

/* Begin a run, and give up the one under way. Nothing is computed yet. */
int lt_stream_begin(const lt_program *program, void *net);

/* Run from the beginning to the end, with the callbacks. */
int lt_stream_invoke(const lt_program *program, void *net);

/* Where the next row goes that the run wants; null if it wants none. */
void *lt_stream_next_row(const lt_program *program, void *net);

/* The row is there that lt_stream_next_row asked for: run as far as it allows. LT_ERROR_ARGUMENT if it
 * asked for none. */
int lt_stream_row_done(const lt_program *program, void *net);

/* Give `n` rows of `bytes` bytes, which lie one after the other, and run as far as they allow; if no
 * run is under way, begin one. LT_ERROR_ARGUMENT, and nothing is done, if the run does not want that
 * many. */
int lt_stream_push_rows(const lt_program *program, void *net, const void *rows, int n,
                        size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
