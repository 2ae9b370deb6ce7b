/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv.h: CONV_2D and FULLY_CONNECTED, int8 activations and weights, in full generality.
 *
 * A small and plain kernel, for operators that do not meet the conditions of lt_conv_packed.h (groups,
 * scales of 1/2 or more, and others).
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 */
#ifndef LT_CONV_H
#define LT_CONV_H

#include "lowtide.h"

/* One output row of CONV_2D.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding. The caller chooses the rows,
 *   and so applies stride, dilation and padding along the height.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: kernel_h * kernel_w * in_c bytes; not used if kernel_h * kernel_w == 1.
 */
typedef struct {
    const int8_t *weights;     /* [out_c][kernel_h][kernel_w][in_c / groups] */
    const int32_t *bias;       /* [out_c], modulo 2^32: b - input_zero * sum(w) */
    const int32_t *multiplier; /* [out_c]: the scale factors, see lt_fixed.h */
    const int8_t *shift;       /* [out_c] */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t groups;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left; /* columns of padding to the left of the input */
    int8_t input_zero;
    int8_t output_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t flip;     /* not 1 x 1: 0x80 to flip the sign bits of input bytes, else 0 */
} lt_conv_s8;

void lt_conv_s8_row(const void *params, const lt_step *step);

#endif
