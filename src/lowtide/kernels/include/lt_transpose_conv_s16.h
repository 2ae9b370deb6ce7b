/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv_s16.h: TRANSPOSE_CONV, int16 activations without zero points, int8 weights.
 *
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/transpose_conv.h. As in lt_transpose_conv.h,
 * each output row gathers the inputs that reach it. The kernel makes four channels at once.
 */
#ifndef LT_TRANSPOSE_CONV_S16_H
#define LT_TRANSPOSE_CONV_S16_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: `rows` consecutive input rows of in_w * in_c elements, null where they are outside the input. In
 *   step r, the last one is row floor((r + pad_top) / stride_h). `rows` is ceil(kernel_h / stride_h). No
 *   other row reaches the output row.
 * step->out[0]: a row of out_w * out_c elements. It must not overlap an input row. No scratch memory.
 */
typedef struct {
    /* [out_c][kernel_h][kernel_w][ceil(in_c / 4)][4], in the order of lt_conv_2x2.h */
    const int8_t *weights;
    const int64_t *bias;       /* [out_c] */
    const int32_t *multiplier; /* [out_c] */
    const int8_t *shift;       /* [out_c], at most 14 */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_h, stride_w;
    uint16_t pad_top, pad_left;
    uint16_t rows;
    int16_t low, high; /* range of the fused activation */
} lt_transpose_conv_s16;

void lt_transpose_conv_s16_row(const void *params, const lt_step *step);

#endif
