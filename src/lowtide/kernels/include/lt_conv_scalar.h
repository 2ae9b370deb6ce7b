/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_scalar.h: CONV_2D and FULLY_CONNECTED, int8, one group, for cores without Arm's DSP extension.
 *
 * A faster form of lt_conv.h, for programs compiled for such a core. It makes four channels of two pixels at
 * once, or of one pixel. lt_scalar.h describes weights, scales and conditions. The compiler checks these
 * conditions, and one more: no channel has -128 as the weights of both products 2 * k and 2 * k + 1 (except
 * in the products after the last whole group of four).
 */
#ifndef LT_CONV_SCALAR_H
#define LT_CONV_SCALAR_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: 0 bytes if direct; `products` bytes if lean, or if out_w == 1; otherwise twice as many. The
 *   lean form makes one pixel at a time, which takes more instructions.
 */
typedef struct {
    const int8_t *weights; /* [ceil(out_c / 4)][products][4] */
    const int32_t *scales; /* [ceil(out_c / 4)][4][3]: see lt_scalar.h */
    uint16_t products;     /* kernel_h * kernel_w * in_c */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t direct;   /* the kernel is 1 x 1 without padding: pixels are read in place */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* not direct: 0x80 if the input is uint8, to flip its sign bits; else 0 */
} lt_conv_scalar_s8;

void lt_conv_scalar_s8_row(const void *params, const lt_step *step);

/* Like lt_conv_scalar_s8_row, for any factors: see lt_scalar_any in lt_scalar.h. */
void lt_conv_scalar_s8_any(const void *params, const lt_step *step);

#endif
