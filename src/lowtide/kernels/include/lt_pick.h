/* SPDX-License-Identifier: Apache-2.0 */
/* lt_pick.h: makes rows from pieces of other rows, by lists made at compile time; elements of any type.
 *
 * For SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND, MIRROR_PAD, REVERSE_V2,
 * GATHER_ND, BROADCAST_TO, TILE, FILL and others. For each element of the output, the compiler knows which
 * element of the input it is, and most rows of the output are made alike. So a list of pieces serves many
 * rows.
 */
#ifndef LT_PICK_H
#define LT_PICK_H

#include "lowtide.h"

/* One output row of `count` pieces of `bytes` bytes.
 *
 * step->in: a window of rows of the input, null where they are outside it.
 * step->out[0]: a row. It must not overlap the input rows. No scratch memory.
 * List l has the pieces [l * count, (l + 1) * count). Step r uses list lists[r], or list 0 if lists is null.
 */
typedef struct {
    const uint16_t *pieces; /* the number of each piece within its row; LT_NONE for a piece of padding */
    const uint8_t *rows;    /* the row of the window that has each piece; null if all are in the first */
    const uint8_t *lists;   /* [steps], or null */
    const uint8_t *value;   /* [bytes]: a piece of padding, or null */
    int32_t count;
    int32_t bytes;
} lt_pick;

void lt_pick_row(const void *params, const lt_step *step);

#endif
