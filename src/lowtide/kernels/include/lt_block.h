/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block.h: a depthwise convolution with the pointwise ones before and after it, some pixels at a time.
 *
 * What lies between them is never there as rows. Of what the first pointwise convolution makes
 * (`expand`) a window of some columns is there, and, if rows are kept, those that the next step reads
 * again; of what the depthwise one makes, the pixels that are under way. Arithmetic is all in
 * lt_conv_packed.h and lt_depthwise_quick.h.
 */
#ifndef LT_BLOCK_H
#define LT_BLOCK_H

#include "lowtide.h"
#include "lt_conv_packed.h"
#include "lt_depthwise_quick.h"

#define LT_BLOCK_ROWS 8 /* the most that the kernel's height may be */

/* One output row, or none: the first `ahead` steps only fill the kept rows.
 *
 * With F = kernel_h - kept, P = piece and V = (P - 1) * stride_w + kernel_w, the columns that a piece
 * reads, or in_w if that is less:
 * step->in: the F lowest rows of the window, of in_w * in_c bytes, null where they are padding.
 * step->out[0]: a row of pieces * P pixels, null in the steps ahead; overlaps no input row. Then the
 *   kept rows, of as many pixels of the depthwise convolution's input as are read, at most in_w: row y
 *   of it is in number y % kept. Their contents last from step to step.
 * step->scratch: F * V pixels of the depthwise convolution's input, P pixels of its output (if there is
 *   a `project`), each rounded up to 4 bytes, then what the kernels need; aligned to 4.
 */
typedef struct {
    const lt_conv_packed_s8 *expand;
    const lt_depthwise_quick_s8 *depthwise; /* out_w = P; in_w and pad_left are not used */
    const lt_conv_packed_s8 *project;       /* null: there is none; else out_w = P */
    uint16_t in_h, in_w;                    /* of the input; what is outside of it is padding */
    uint16_t pieces, piece;
    uint16_t kept, ahead;
    int16_t pad_top, pad_left;
    uint8_t stride_h;
    uint8_t lean; /* the kernels run in their lean forms */
} lt_block_s8;

void lt_block_s8_row(const void *params, const lt_step *step);

/* The same without `expand`: a depthwise convolution and the pointwise one after it.
 *
 * step->in: kernel_h rows, null where they are padding. step->out[0]: a row of pieces * piece pixels.
 * step->scratch: P pixels of the depthwise convolution's output, rounded up to 4 bytes, then what the
 *   kernels need; aligned to 4.
 */
typedef struct {
    const lt_depthwise_quick_s8 *depthwise; /* out_w = P; the rest as for whole rows */
    const lt_conv_packed_s8 *project;       /* out_w = P */
    uint16_t pieces;
    uint8_t lean;
} lt_separable_s8;

void lt_separable_s8_row(const void *params, const lt_step *step);

#endif
