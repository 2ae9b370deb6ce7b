/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv.h: TRANSPOSE_CONV, int8 activations and weights.
 *
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/transpose_conv.h. The reference scatters
 * each input pixel over the output. Here, each output row gathers the inputs that reach it. So it needs few
 * input rows, and no accumulators.
 */
#ifndef LT_TRANSPOSE_CONV_H
#define LT_TRANSPOSE_CONV_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: `rows` consecutive input rows of in_w * in_c bytes, null where they are outside the input. In
 *   step r, the last one is row floor((r + pad_top) / stride_h). `rows` is ceil(kernel_h / stride_h). No
 *   other row reaches the output row.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row. No scratch memory.
 */
typedef struct {
    const int8_t *weights;     /* [out_c][kernel_h][kernel_w][in_c] */
    const int32_t *bias;       /* [out_c] */
    const int32_t *multiplier; /* [out_c] */
    const int8_t *shift;       /* [out_c] */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_h, stride_w;
    uint16_t pad_top, pad_left;
    uint16_t rows;
    int8_t input_zero;
    int8_t output_zero;
    int8_t low, high; /* range of the fused activation */
} lt_transpose_conv_s8;

void lt_transpose_conv_s8_row(const void *params, const lt_step *step);

#endif
