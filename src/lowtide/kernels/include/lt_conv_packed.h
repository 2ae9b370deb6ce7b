/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_packed.h: CONV_2D and FULLY_CONNECTED, int8, one group, weights packed at compile time.
 *
 * The fast form of lt_conv.h, for operators that meet the conditions below (nearly all of them).
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/conv.h and fully_connected.h.
 *
 * Packing: output channels come in pairs c0, c1 (zeros complete the last pair). Products come in groups of
 * four (zeros pad the last group). A word of weights has two halves, 256 * w1 + w0, for products k and k + 2.
 * With raw = sum x * half and low = sum x * w0, the results are low and (raw - low) / 256. So four products
 * of bytes take two multiplications of halves, and one unpacking instead of two.
 * The compiler checks these conditions for each channel, with the actual weights:
 *   every half fits int16; |sum x * w1| < 2^23 for all x;
 *   scales are below 1/2, and 2 * (accumulator) fits int32: see lt_narrow in lt_fixed.h.
 *
 * Scales: five words for a pair of channels. They are the bias (with the input's zero point folded in, times
 * 2) and the multiplier of c0, then those of c1, then the shift of c0 + 256 * the shift of c1. Shifts are 0
 * to 22, and a factor is multiplier * 2^(-32 - shift).
 */
#ifndef LT_CONV_PACKED_H
#define LT_CONV_PACKED_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: aligned to 4. With d = 4 * quads, if lean or out_w == 1: 0 bytes if direct, else d bytes.
 *   Otherwise, with the DSP extension: 4 * d bytes if direct, or if in_c is a multiple of 4 and flip is 0,
 *   else 5 * d bytes. Otherwise, in plain C: 0 bytes if direct, else 2 * d bytes. The lean form makes one
 *   pixel at a time, and takes twice the instructions.
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
    int8_t low, high; /* range of the fused activation */
    uint8_t direct;   /* the kernel is 1 x 1 without padding: pixels are read in place */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* not direct: 0x80 to flip the sign bits of input bytes, else 0 */
} lt_conv_packed_s8;

void lt_conv_packed_s8_row(const void *params, const lt_step *step);

#endif
