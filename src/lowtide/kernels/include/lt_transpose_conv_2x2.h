/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv_2x2.h: TRANSPOSE_CONV, int16 activations without zero points, int8 weights.
 *
 * A quicker form of lt_transpose_conv_s16.h, as lt_conv_2x2.h has it: sums fit 32 bits at any time, also when
 * shifted left by `left`. Output columns that are stride_w apart read the same weights.
 */
#ifndef LT_TRANSPOSE_CONV_2X2_H
#define LT_TRANSPOSE_CONV_2X2_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: `rows` consecutive input rows of in_w * in_c elements, null where outside the input; the
 *   last one is number floor((r + pad_top) / stride_h) in step r, and `rows` is
 *   ceil(kernel_h / stride_h): no other row reaches the output row.
 * step->out[0]: a row of out_w * out_c elements; overlaps no input row. No scratch.
 */
typedef struct {
    const int8_t *weights; /* [out_c][kernel_h][kernel_w][ceil(in_c / 4)][4], in the order of lt_conv_2x2.h */
    const int32_t *start;  /* [out_c]: the bias */
    const int32_t *factor; /* [out_c]: for lt_high_s16 */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_h, stride_w;
    uint16_t pad_top, pad_left;
    uint16_t rows;
    int16_t low, high; /* the fused activation's range */
    uint8_t left;      /* 0 to 15: sums are shifted so, and then scaled */
} lt_transpose_conv_2x2_s16;

void lt_transpose_conv_2x2_s16_row(const void *params, const lt_step *step);

#endif
