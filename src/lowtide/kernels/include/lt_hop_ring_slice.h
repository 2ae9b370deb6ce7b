/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_ring_slice.h: windows that slide in the caller's ring, in slices. */
#ifndef LT_HOP_RING_SLICE_H
#define LT_HOP_RING_SLICE_H

#include "lt_hop_ring.h"
#include "lt_slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run a slice on the way to the next outputs: LT_MORE until they are there. Rows that are wanted are asked
 * for by the callback of lt_stream.h, or, if there is none, there. */
int lt_hop_ring_slice_invoke(const lt_ring_hops *hops, const lt_sliced *sliced, void *net,
                             uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
