/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_slice.h: sliding windows (lt_hop.h), run in slices. The callback of lt_stream.h gives the rows. */
#ifndef LT_HOP_SLICE_H
#define LT_HOP_SLICE_H

#include "lt_hop.h"
#include "lt_slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The `exchange` of lt_sliced for such programs. */
int lt_hop_slice_exchange(const lt_program *program, void *net);

/* Run a slice on the way to the next outputs, as lt_slice_stream_invoke does. Returns LT_MORE until they
 * are ready. */
int lt_hop_slice_invoke(const lt_hops *hops, const lt_sliced *sliced, void *net, uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
