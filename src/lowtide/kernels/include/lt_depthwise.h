/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise.h: DEPTHWISE_CONV_2D, int8 activations and weights, in full generality.
 *
 * A small and plain kernel, for operators that do not meet the conditions of lt_depthwise_mult1.h.
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h.
 */
#ifndef LT_DEPTHWISE_H
#define LT_DEPTHWISE_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * in_c * filters bytes. It must not overlap an input row.
 * step->scratch: not used.
 */
typedef struct {
    const int8_t *weights;     /* [kernel_h][kernel_w][in_c * filters] */
    const int32_t *bias;       /* [in_c * filters] */
    const int32_t *multiplier; /* [in_c * filters]: the scale factors, see lt_fixed.h */
    const int8_t *shift;       /* [in_c * filters] */
    uint16_t in_w, in_c;
    uint16_t out_w;
    uint16_t filters; /* output channels per input channel */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left; /* columns of padding to the left of the input */
    int8_t input_zero;
    int8_t output_zero;
    int8_t low, high; /* range of the fused activation */
} lt_depthwise_s8;

void lt_depthwise_s8_row(const void *params, const lt_step *step);

#endif
