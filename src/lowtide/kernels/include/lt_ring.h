/* SPDX-License-Identifier: Apache-2.0 */
/* lt_ring.h: rows of an input that the caller keeps in a ring in its own memory.
 *
 * The rows that a run reads are one after the other in the ring. After the ring's last row, they continue at
 * its start. In lt_rows, such an input has `apart` == LT_IN_RING. Base LT_RING_BASE is the oldest row that a
 * run reads. Byte n of the rows that a run reads is byte n of the base if n < room, and byte n - size of it
 * otherwise.
 */
#ifndef LT_RING_H
#define LT_RING_H

#include "lowtide.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LT_IN_RING 2U
#define LT_RING_BASE 2 /* the base after it has the address of the lt_ring */

/* All in bytes. */
typedef struct {
    uint32_t room;  /* from the oldest row that a run reads to the end of the ring */
    uint32_t size;  /* size of the ring */
    uint32_t first; /* offset of the first row that exists in what a run reads: reads of older rows get it */
} lt_ring;

#ifdef __cplusplus
}
#endif

#endif
