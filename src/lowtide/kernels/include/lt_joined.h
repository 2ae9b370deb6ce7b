/* SPDX-License-Identifier: Apache-2.0 */
/* lt_joined.h: operators that read a concatenation along channels, a few pixels at a time.
 *
 * The concatenation never exists as rows. Where it is read, lt_concat_row of lt_move.h joins a few of its
 * pixels in scratch memory. So a row can be part of several concatenations, and no row is in memory more
 * than once.
 */
#ifndef LT_JOINED_H
#define LT_JOINED_H

#include "lowtide.h"
#include "lt_block.h"
#include "lt_move.h"

#define LT_JOINED_PARTS 16 /* the greatest number of rows to join */

/* A concatenation and the pointwise convolution that reads it. One output row.
 *
 * step->in: a row of out_w pixels of each part. step->out[0]: such a row; it must not overlap an input row.
 * step->scratch: `piece` pixels of in_c bytes, rounded up to 4, then what `run` needs. Aligned to 4.
 */
typedef struct {
    const lt_join *join;    /* of pixels: bytes[k] of part k; its `runs` is not used */
    lt_kernel run;          /* makes out_w pixels from a row of as many pixels */
    const void *params;     /* of `run`, for `piece` pixels */
    const void *last;       /* the same for the pixels that are left at the end; null if there are none */
    int32_t in_c, out_c;    /* bytes of a pixel */
    uint16_t out_w, piece;
} lt_joined;

void lt_joined_row(const void *params, const lt_step *step);

/* A concatenation, the depthwise convolution that reads it, and a pointwise one. One output row.
 *
 * step->in: kernel_h rows of the first part, null where they are padding, then those of the other parts.
 * step->out[0], step->scratch: as in lt_block.h if no rows are kept. `expand` is the concatenation.
 */
typedef struct {
    const lt_join *join;
    lt_block (*of)(const void *params); /* the block of `params`, without `expand`; it keeps no rows */
    const void *params;
} lt_joined_block;

void lt_joined_block_row(const void *params, const lt_step *step);

#endif
