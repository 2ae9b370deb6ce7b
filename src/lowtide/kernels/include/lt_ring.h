/* SPDX-License-Identifier: Apache-2.0 */
/* lt_ring.h: rows of an input that the caller keeps in a ring in its own memory.
 *
 * The rows that a run reads are one after the other in the ring, and continue at its start after its last
 * row. Rows of such an input have `apart` == LT_IN_RING in lt_rows. Base LT_RING_BASE is the oldest row that
 * a run reads. Byte n of the rows that it reads is byte n of the base if n < room, and otherwise byte
 * n - size.
 */
#ifndef LT_RING_H
#define LT_RING_H

#include "lowtide.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LT_IN_RING 2U
#define LT_RING_BASE 2 /* the base after it has the address of the lt_ring */

/* In bytes. */
typedef struct {
    uint32_t room;  /* from the oldest row that a run reads to the end of the ring */
    uint32_t size;  /* of the ring */
    uint32_t first; /* of what a run reads, before the first row that there is: that one is read there */
} lt_ring;

#ifdef __cplusplus
}
#endif

#endif
