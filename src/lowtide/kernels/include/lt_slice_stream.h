/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slice_stream.h: runs in slices of programs that exchange rows with their caller.
 *
 * Rows are asked for and handed over by the callbacks of lt_stream.h, within slices.
 */
#ifndef LT_SLICE_STREAM_H
#define LT_SLICE_STREAM_H

#include "lt_slice.h"
#include "lt_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What lt_sliced has for such programs. */
int lt_slice_stream_exchange(const lt_program *program, void *net);

/* Run a slice of the run under way, or of a new one, which gives up a run whose rows are pushed. LT_MORE,
 * or LT_OK at the end; LT_ERROR_ARGUMENT if `net` is null, not set up, or lacks a callback; or what a
 * callback returned, if that gave up the run: it must not return LT_MORE. */
int lt_slice_stream_invoke(const lt_sliced *sliced, void *net, uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
