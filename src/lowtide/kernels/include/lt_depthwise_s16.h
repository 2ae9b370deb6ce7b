/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16.h: DEPTHWISE_CONV_2D, int16 activations, int8 weights, 64-bit biases.
 *
 * Zero points count as 0 in the reference.
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h.
 */
#ifndef LT_DEPTHWISE_S16_H
#define LT_DEPTHWISE_S16_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * in_c * filters int16; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const int8_t *weights;     /* [kernel_h][kernel_w][in_c * filters] */
    const int64_t *bias;       /* [in_c * filters] */
    const int32_t *multiplier; /* [in_c * filters] */
    const int8_t *shift;       /* [in_c * filters], at most 14 */
    uint16_t in_w, in_c;
    uint16_t out_w;
    uint16_t filters; /* output channels per input channel */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t low, high; /* the fused activation's range */
} lt_depthwise_s16;

void lt_depthwise_s16_row(const void *params, const lt_step *step);

#endif
