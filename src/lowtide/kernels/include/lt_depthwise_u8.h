/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_u8.h: DEPTHWISE_CONV_2D, uint8 activations and weights quantised as a whole (the legacy
 * scheme).
 *
 * Source: tensorflow/lite/kernels/internal/reference/depthwiseconv_uint8.h.
 */
#ifndef LT_DEPTHWISE_U8_H
#define LT_DEPTHWISE_U8_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * in_c * filters bytes; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const uint8_t *weights; /* [kernel_h][kernel_w][in_c * filters] */
    const int32_t *bias;    /* [in_c * filters] */
    int32_t multiplier;
    int8_t shift;
    uint16_t in_w, in_c;
    uint16_t out_w;
    uint16_t filters; /* output channels per input channel */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    uint8_t input_zero, weights_zero, output_zero;
    uint8_t low, high; /* the fused activation's range */
} lt_depthwise_u8;

void lt_depthwise_u8_row(const void *params, const lt_step *step);

#endif
