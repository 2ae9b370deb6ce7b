/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_scalar.h: CONV_2D and FULLY_CONNECTED, int8, one group, for cores without Arm's DSP extension.
 *
 * A quicker form of lt_conv.h, for programs that are made for such a core: four channels times two
 * pixels at once, or four times one. Weights and scales are as lt_scalar.h says; the compiler checks the
 * conditions there, and that of products 2 * k and 2 * k + 1 of a channel not both weights are -128 (but
 * for those beyond the last four).
 */
#ifndef LT_CONV_SCALAR_H
#define LT_CONV_SCALAR_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes; overlaps no input row.
 * step->scratch: 0 bytes if direct; `products` if lean, or out_w == 1; else twice as much. Lean, it takes
 *   one pixel at a time, which is more instructions.
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
    int8_t low, high; /* the fused activation's range */
    uint8_t direct;   /* the kernel is 1 x 1 without padding: pixels are used where they are */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* 0x80: what is gathered is uint8, its sign bit is flipped; 0 if direct */
} lt_conv_scalar_s8;

void lt_conv_scalar_s8_row(const void *params, const lt_step *step);

/* The same of any factors: see lt_scalar_any. */
void lt_conv_scalar_s8_any(const void *params, const lt_step *step);

#endif
