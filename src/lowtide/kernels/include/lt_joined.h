/* SPDX-License-Identifier: Apache-2.0 */
/* lt_joined.h: what a concatenation along channels makes, read some pixels at a time.
 *
 * It is never there as rows: a few of its pixels are put together in scratch memory where they are read, by
 * lt_concat_row of lt_move.h. So the rows that are joined may be parts of several concatenations, and no
 * row is there twice.
 */
#ifndef LT_JOINED_H
#define LT_JOINED_H

#include "lowtide.h"
#include "lt_block.h"
#include "lt_move.h"

#define LT_JOINED_PARTS 16 /* the most rows that are joined */

/* A concatenation, and a pointwise convolution that reads it: one output row.
 *
 * step->in: a row of each part, of out_w pixels. step->out[0]: a row of out_w pixels; overlaps no input row.
 * step->scratch: `piece` pixels of in_c bytes, rounded up to 4, then what `run` needs; aligned to 4.
 */
typedef struct {
    const lt_join *join;    /* of pixels: bytes[k] of part k; its runs are not used */
    lt_kernel run;          /* makes out_w pixels of a row of as many */
    const void *params;     /* of `run`, for `piece` pixels */
    const void *last;       /* the same for the pixels that are left; null: there are none */
    int32_t in_c, out_c;    /* bytes of a pixel */
    uint16_t out_w, piece;
} lt_joined;

void lt_joined_row(const void *params, const lt_step *step);

/* A concatenation, the depthwise convolution that reads it, and a pointwise one: one output row.
 *
 * step->in: kernel_h rows of the first part, null where they are padding, then those of the next ones.
 * step->out[0] and step->scratch as for blocks that keep no rows, whose `expand` is the concatenation.
 */
typedef struct {
    const lt_join *join;
    lt_block (*of)(const void *params); /* the block of `params`, without `expand`; it keeps no rows */
    const void *params;
} lt_joined_block;

void lt_joined_block_row(const void *params, const lt_step *step);

#endif
