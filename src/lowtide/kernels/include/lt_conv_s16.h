/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_s16.h: CONV_2D and FULLY_CONNECTED, int16 activations, int8 weights.
 *
 * Biases have 64 or 32 bits. Their size decides how sums are made and scaled. In the reference, the zero
 * points of CONV_2D count as 0, and those of FULLY_CONNECTED do not.
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 */
#ifndef LT_CONV_S16_H
#define LT_CONV_S16_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * out_c int16. It must not overlap an input row.
 * step->scratch: 2 * kernel_h * kernel_w * in_c bytes; not used if kernel_h * kernel_w == 1.
 */
typedef struct {
    const int8_t *weights;     /* [out_c][kernel_h][kernel_w][in_c / groups] */
    const int64_t *bias;       /* [out_c], with the input's zero point folded in; or null */
    const int32_t *bias_32;    /* [out_c], modulo 2^32: used if bias is null */
    const int32_t *multiplier; /* [out_c] */
    const int8_t *shift;       /* [out_c], at most 14 with 64-bit biases */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t groups;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t output_zero;
    int16_t low, high; /* range of the fused activation */
} lt_conv_s16;

void lt_conv_s16_row(const void *params, const lt_step *step);

#endif
