/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_s16.h: CONV_2D and FULLY_CONNECTED, int16 activations, int8 weights.
 *
 * Biases have 64 bits or 32, and decide how sums are made and scaled. The zero points of CONV_2D count
 * as 0 in the reference; those of FULLY_CONNECTED do not.
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 */
#ifndef LT_CONV_S16_H
#define LT_CONV_S16_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * out_c int16; overlaps no input row.
 * step->scratch: 2 * kernel_h * kernel_w * in_c bytes; unused if kernel_h * kernel_w == 1.
 */
typedef struct {
    const int8_t *weights;     /* [out_c][kernel_h][kernel_w][in_c / groups] */
    const int64_t *bias;       /* [out_c], the input's zero point folded in; or null, and then ... */
    const int32_t *bias_32;    /* [out_c], modulo 2^32 */
    const int32_t *multiplier; /* [out_c] */
    const int8_t *shift;       /* [out_c], at most 14 with 64 bits */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t groups;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t output_zero;
    int16_t low, high; /* the fused activation's range */
} lt_conv_s16;

void lt_conv_s16_row(const void *params, const lt_step *step);

#endif
