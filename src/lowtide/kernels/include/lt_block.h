/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block.h: a depthwise convolution with the pointwise ones before and after it, some pixels at a time.
 *
 * What lies between them is never there as rows. Of what the first pointwise convolution makes
 * (`expand`) a window of some columns is there, and, if rows are kept, those that the next step reads
 * again; of what the depthwise one makes, the pixels that are under way. Arithmetic is all in
 * lt_conv_packed.h and lt_depthwise_mult1.h.
 */
#ifndef LT_BLOCK_H
#define LT_BLOCK_H

#include "lowtide.h"
#include "lt_conv_packed.h"
#include "lt_depthwise_mult1.h"

#define LT_BLOCK_ROWS 8 /* the most that the kernel's height may be */

/* One output row, or none: the first `ahead` steps only fill the kept rows. Below 0, the first step makes
 * row -ahead: those before it are made by another node, which keeps the same rows.
 *
 * With F = kernel_h - kept, P = piece, the pixels that are made at a time (the last time as many as are
 * left), and V = (P - 1) * stride_w + kernel_w, the columns that a piece reads, or in_w if that is less:
 * step->in: the F lowest rows of the window, of in_w * in_c bytes, null where they are padding.
 * step->out[0]: a row of out_w pixels, null in the steps ahead; overlaps no input row. Then the
 *   kept rows, of as many pixels of the depthwise convolution's input as are read, at most in_w: row y
 *   of it is in number y % kept. Their contents last from step to step.
 * step->scratch: F * V pixels of the depthwise convolution's input, P pixels of its output (if there is
 *   a `project` and it is not in place), each rounded up to 4 bytes, then what the kernels need; aligned
 *   to 4.
 */
typedef struct {
    const lt_conv_packed_s8 *expand;
    const lt_depthwise_mult1_s8 *depthwise; /* out_w, in_w and pad_left are not used */
    const lt_conv_packed_s8 *project;       /* null: there is none; else out_w is not used */
    uint16_t in_h, in_w;                    /* of the input; what is outside of it is padding */
    uint16_t out_w, piece;
    uint16_t kept;
    int16_t ahead, pad_top, pad_left;
    uint8_t stride_h;
    uint8_t lean; /* the kernels run in their lean forms */
} lt_block_s8;

void lt_block_s8_row(const void *params, const lt_step *step);

/* The same without `expand`, which is null: a depthwise convolution and the pointwise one after it.
 *
 * step->in: kernel_h rows, null where they are padding. step->out[0]: a row of out_w pixels.
 * step->scratch: P pixels of the depthwise convolution's output, rounded up to 4 bytes, unless `project`
 *   is in place, then what the kernels need; aligned to 4. No rows are kept.
 */
void lt_separable_s8_row(const void *params, const lt_step *step);

/* Blocks of any kernels: what the functions above do with those that `params`, of whatever type, are for.
 * They make so many columns, the depthwise one of rows of in_w pixels. With `in_place`, `project` may
 * write over what it has read: what it reads lies at the end of what it makes, and channels <= out_c. */
typedef struct lt_block lt_block;
struct lt_block {
    const void *params;
    void (*expand)(const lt_block *block, int32_t from, int32_t columns, const lt_step *step);
    void (*project)(const lt_block *block, int32_t columns, const lt_step *step); /* null: there is none */
    void (*depthwise)(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                      const lt_step *step);
    int32_t in_h, in_w, out_w, piece, kept, ahead, pad_top, pad_left, stride_h; /* as above */
    int32_t stride_w, kernel_h, kernel_w, channels; /* of the depthwise convolution */
    int32_t in_c, out_c; /* of the block; in_c is 0 if `expand` is given all its rows from column 0 on */
    int32_t in_place;
    const void *more; /* what else `expand` needs */
};

/* The second line of its fields, for the params of any kernels. */
#define LT_BLOCK_SHAPE(p)                                                                            \
    (p)->in_h, (p)->in_w, (p)->out_w, (p)->piece, (p)->kept, (p)->ahead, (p)->pad_top, (p)->pad_left, \
        (p)->stride_h

void lt_block_run(const lt_block *block, const lt_step *step);
void lt_separable_run(const lt_block *block, const lt_step *step);

/* The block of an lt_block_s8. */
lt_block lt_block_s8_of(const void *params);

/* `depthwise` of a block whose depthwise kernel is that of lt_depthwise_mult1.h. */
static inline void lt_block_depthwise(const lt_depthwise_mult1_s8 *depthwise, int lean, int32_t columns,
                                      int32_t pad_left, int32_t in_w, const lt_step *step)
{
    lt_depthwise_mult1_s8 part = *depthwise;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    if (lean != 0) {
        lt_depthwise_mult1_s8_plain(&part, step);
    } else {
        lt_depthwise_mult1_s8_row(&part, step);
    }
}

#endif
