/* lt_pick.h: rows put together of pieces of other rows, by lists made at compile time; elements of any
 * type.
 *
 * For SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND, MIRROR_PAD, REVERSE_V2,
 * GATHER_ND, BROADCAST_TO, TILE, FILL and others: which element of the input is where in the output is
 * known, and most rows of the output are made alike.
 */
#ifndef LT_PICK_H
#define LT_PICK_H

#include "lowtide.h"

/* One output row, of `count` pieces of `bytes` bytes.
 *
 * step->in: a window of rows of the input, null where outside it.
 * step->out[0]: a row that does not overlap them. No scratch.
 * List l has the pieces [l * count, (l + 1) * count); step r uses list lists[r], or 0.
 */
typedef struct {
    const uint16_t *pieces; /* number of each piece within its row; LT_NONE for one of padding */
    const uint8_t *rows;    /* which row of the window it is in; null if all are in the first */
    const uint8_t *lists;   /* [steps], or null */
    const uint8_t *value;   /* [bytes]: a piece of padding, or null */
    int32_t count;
    int32_t bytes;
} lt_pick;

void lt_pick_row(const void *params, const lt_step *step);

#endif
