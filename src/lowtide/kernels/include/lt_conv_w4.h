/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_w4.h: CONV_2D and FULLY_CONNECTED, int8 activations, 4-bit weights.
 *
 * Weights stay packed in flash, two per byte. The kernel unpacks them where it multiplies them, for two
 * pixels at once. Stored weights are 8 too high, so they need no sign: sum((w + 8) * x) - 8 * sum(x).
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 */
#ifndef LT_CONV_W4_H
#define LT_CONV_W4_H

#include "lowtide.h"

/* One output row of CONV_2D.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding. The caller chooses the rows,
 *   and so applies stride, dilation and padding along the height.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: two windows of kernel_h * kernel_w * in_c bytes, or one if `lean` or out_w == 1. Not used if
 *   kernel_h * kernel_w == 1.
 */
typedef struct {
    const uint8_t *weights;    /* [out_c][(products + 1) / 2]: plus 8, the first of two in the low half */
    const int32_t *bias;       /* [out_c], modulo 2^32: b - input_zero * sum(w) */
    const int32_t *multiplier; /* [out_c] */
    const int8_t *shift;       /* [out_c] */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero;
    int8_t output_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t lean;     /* one pixel at a time: less scratch memory, more instructions */
} lt_conv_w4_s8;

void lt_conv_w4_s8_row(const void *params, const lt_step *step);

#endif
