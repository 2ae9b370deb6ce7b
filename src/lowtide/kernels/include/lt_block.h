/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block.h: a depthwise convolution with the pointwise ones before and after it, a few pixels at a time.
 *
 * The tensors between them never exist as whole rows. Of the output of the first pointwise convolution
 * (`expand`), memory holds a window of some columns and, if rows are kept, the rows that the next step reads
 * again. Of the output of the depthwise convolution, it holds the pixels in progress. The arithmetic is that
 * of lt_conv_packed.h and lt_depthwise_mult1.h.
 */
#ifndef LT_BLOCK_H
#define LT_BLOCK_H

#include "lowtide.h"
#include "lt_conv_packed.h"
#include "lt_depthwise_mult1.h"

#define LT_BLOCK_ROWS 8 /* the greatest height of the depthwise kernel */

/* One output row. If `ahead` > 0, the first `ahead` steps make no row: they only fill the kept rows. If
 * `ahead` < 0, the first step makes row -ahead. Another node makes those before, and keeps the same rows.
 *
 * F is kernel_h - kept. P is piece, the number of pixels to make at a time (the last time, those that are
 * left). V is (P - 1) * stride_w + kernel_w, the columns that a piece reads, or in_w if that is less.
 * step->in: the bottom F rows of the window, of in_w * in_c bytes, null where they are padding.
 * step->out[0]: a row of out_w pixels; null in the first `ahead` steps. It must not overlap an input row.
 *   Then come the kept rows, of as many pixels of the depthwise convolution's input as it reads, at most
 *   in_w. Row y of this input is kept row y % kept. The kept rows must last from step to step.
 * step->scratch: F * V pixels of the depthwise convolution's input, then P pixels of its output (if there is
 *   a `project` and it is not in place), each rounded up to 4 bytes; then what the kernels need. Aligned
 *   to 4.
 */
typedef struct {
    const lt_conv_packed_s8 *expand;
    const lt_depthwise_mult1_s8 *depthwise; /* its out_w, in_w and pad_left are not used */
    const lt_conv_packed_s8 *project;       /* null if there is none; its out_w is not used */
    uint16_t in_h, in_w;                    /* size of the input; everything outside of it is padding */
    uint16_t out_w, piece;
    uint16_t kept;
    int16_t ahead, pad_top, pad_left;
    uint8_t stride_h;
    uint8_t lean; /* the depthwise kernel runs in its lean form; the others have their own `lean` */
} lt_block_s8;

void lt_block_s8_row(const void *params, const lt_step *step);

/* Like lt_block_s8_row, but `expand` is null: a depthwise convolution and the pointwise one after it.
 *
 * step->in: kernel_h rows, null where they are padding. step->out[0]: a row of out_w pixels.
 * step->scratch: P pixels of the depthwise convolution's output, rounded up to 4 bytes (not if `project` is
 *   in place), then what the kernels need. Aligned to 4. No rows are kept.
 */
void lt_separable_s8_row(const void *params, const lt_step *step);

/* A block of any kernels. Its functions know the type of `params`. Each of them makes `columns` columns, and
 * `depthwise` reads rows of in_w pixels. If `in_place` is not 0, `project` can overwrite what it has read:
 * its input is at the end of the memory for its output, and channels <= out_c. */
typedef struct lt_block lt_block;
typedef void (*lt_block_core)(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                              const lt_step *step);
struct lt_block {
    const void *params;
    void (*expand)(const lt_block *block, int32_t from, int32_t columns, const lt_step *step);
    void (*project)(const lt_block *block, int32_t columns, const lt_step *step); /* null if there is none */
    lt_block_core depthwise;
    int32_t in_h, in_w, out_w, piece, kept, ahead, pad_top, pad_left, stride_h; /* as above */
    int32_t stride_w, kernel_h, kernel_w, channels; /* of the depthwise convolution */
    int32_t in_c, out_c; /* of the block; if in_c is 0, `expand` gets its rows from column 0 on */
    int32_t in_place;
    const void *more; /* what else `expand` needs */
};

/* Initialisers for the fields in_h to stride_h of an lt_block, from the params of any kernels. */
#define LT_BLOCK_SHAPE(p)                                                                            \
    (p)->in_h, (p)->in_w, (p)->out_w, (p)->piece, (p)->kept, (p)->ahead, (p)->pad_top, (p)->pad_left, \
        (p)->stride_h

void lt_block_run(const lt_block *block, const lt_step *step);
void lt_separable_run(const lt_block *block, const lt_step *step);

/* Returns the lt_block for params of type lt_block_s8. */
lt_block lt_block_s8_of(const void *params);

#endif
