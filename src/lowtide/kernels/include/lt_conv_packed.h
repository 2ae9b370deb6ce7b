/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_packed.h: CONV_2D and FULLY_CONNECTED, int8, one group, weights packed at compile time.
 *
 * The quick form of lt_conv.h, for the operators that meet the conditions below (nearly all).
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 *
 * Packing. Output channels come in pairs c0, c1 (the last may pair with zeros), products in fours
 * (the last padded with zeros). A word of weights holds two halves, 256 * w1 + w0 for products k and
 * k + 2. With raw = sum x * half and low = sum x * w0 the results are low and (raw - low) / 256: four
 * products of bytes for two multiplications of halves, and one unpacking instead of two.
 * Conditions, which the compiler checks for each channel with the actual weights:
 *   every half fits int16; |sum x * w1| < 2^23 for all x;
 *   scales are below 1/2, 2 * (accumulator) fits int32: see lt_narrow in lt_fixed.h.
 *
 * Scales, five words for a pair of channels: bias (the input's zero point folded in, times 2) and
 * multiplier of c0, then of c1, then the shift of c0 + 256 * that of c1. Shifts are 0 to 22, a factor
 * is multiplier * 2^(-32 - shift).
 */
#ifndef LT_CONV_PACKED_H
#define LT_CONV_PACKED_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes; overlaps no input row.
 * step->scratch: with d = 4 * quads, 0 bytes if direct and out_w == 1; d if only the latter; else, with
 *   the DSP extension, 4 * d if direct or in_c is a multiple of 4 (and bytes are not flipped), else 5 * d; in plain C 0 if
 *   direct, else 2 * d; aligned to 4. If lean, which takes one pixel at a time and twice the
 *   instructions, 0 if direct, else d.
 */
typedef struct {
    const int32_t *weights; /* [ceil(out_c / 2)][quads][2]: for products 0 and 2, for 1 and 3 */
    const int32_t *scales;  /* [ceil(out_c / 2)][5]: see above */
    uint16_t quads;         /* ceil(kernel_h * kernel_w * in_c / 4) */
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
    uint8_t flip;     /* not direct: 0x80 if input bytes' sign bits are to be flipped, else 0 */
} lt_conv_packed_s8;

void lt_conv_packed_s8_row(const void *params, const lt_step *step);

#endif
