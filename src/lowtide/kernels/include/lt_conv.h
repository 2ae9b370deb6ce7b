/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv.h: CONV_2D and FULLY_CONNECTED, int8 activations and weights, in full generality.
 *
 * Small and plain: for operators that do not meet the conditions of lt_conv_packed.h (groups, scales
 * of 1/2 or more, ...).
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 */
#ifndef LT_CONV_H
#define LT_CONV_H

#include "lowtide.h"

/* One output row of CONV_2D.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding; the caller applies
 *   stride, dilation and padding in height by choosing the rows.
 * step->out[0]: a row of out_w * out_c bytes; overlaps no input row.
 * step->scratch: kernel_h * kernel_w * in_c bytes; unused if kernel_h * kernel_w == 1.
 */
typedef struct {
    const int8_t *weights;     /* [out_c][kernel_h][kernel_w][in_c / groups] */
    const int32_t *bias;       /* [out_c], modulo 2^32: b - input_zero * sum(w) */
    const int32_t *multiplier; /* [out_c] */
    const int8_t *shift;       /* [out_c] */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t groups;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero;
    int8_t output_zero;
    int8_t low, high; /* the fused activation's range */
    uint8_t flip;     /* not 1 x 1: 0x80 if input bytes' sign bits are to be flipped, else 0 */
} lt_conv_s8;

void lt_conv_s8_row(const void *params, const lt_step *step);

#endif
