/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_ring_slice.h: sliding windows in a ring in the caller's memory (lt_hop_ring.h), run in slices. */
#ifndef LT_HOP_RING_SLICE_H
#define LT_HOP_RING_SLICE_H

#include "lt_hop_ring.h"
#include "lt_slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run a slice on the way to the next outputs. Returns LT_MORE until they are ready. The callback of
 * lt_stream.h gives the rows; without a callback, they are in the ring already. */
int lt_hop_ring_slice_invoke(const lt_ring_hops *hops, const lt_sliced *sliced, void *net,
                             uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
