/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slice_stream.h: runs in slices of programs that exchange rows with their caller.
 *
 * Within a slice, the callbacks of lt_stream.h give and take rows.
 */
#ifndef LT_SLICE_STREAM_H
#define LT_SLICE_STREAM_H

#include "lt_slice.h"
#include "lt_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The `exchange` of lt_sliced for such programs. */
int lt_slice_stream_exchange(const lt_program *program, void *net);

/* Run a slice of the run in progress, or of a new run. A new run aborts a run whose rows are pushed. Returns
 * LT_MORE, or LT_OK at the end; LT_ERROR_ARGUMENT if `net` is null, is not set up, or lacks a callback; or
 * what a callback returned to abort the run. Callbacks must not return LT_MORE. */
int lt_slice_stream_invoke(const lt_sliced *sliced, void *net, uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
