/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_2x2.h: CONV_2D and FULLY_CONNECTED, int16 activations, int8 weights, one group.
 *
 * A faster form of lt_conv_s16.h, without scratch memory. It makes two channels of two pixels at once, or
 * four channels of one pixel, and reads pixels in place. Padding is 0 in the reference, so it is left out.
 *
 * Weights come in groups of four products, in the order 0, 2, 1, 3. Arm's DSP extension unpacks a word of
 * them to halves in the order of the pixel's words. Each row of the window begins a new group, and zeros pad
 * the last group of a row.
 *
 * The kernel makes and scales sums in one of three ways:
 *   - If `shift` is null: in 32 bits, then shifted left by `left` and scaled with one product, lt_high_s16.
 *     No partial sum can overflow, even when shifted. `start` is the bias, and `factor` is 16 bits of the
 *     multiplier, shifted.
 *   - If `bias` is not null: in 64 bits, then scaled by lt_scale_wide.
 *   - Otherwise: from `start` on, modulo 2^32, then scaled by lt_scale, as the reference for 32-bit biases.
 */
#ifndef LT_CONV_2X2_H
#define LT_CONV_2X2_H

#include "lowtide.h"
#include "lt_four.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * out_c int16. It must not overlap an input row.
 * step->scratch: not used.
 */
typedef struct {
    const int8_t *weights; /* [out_c][kernel_h][ceil(kernel_w * in_c / 4)][4] */
    const int64_t *bias;   /* [out_c], or null */
    const int32_t *start;  /* [out_c]; null if bias is not null */
    const int32_t *factor; /* [out_c]; the multipliers if shift is not null */
    const int8_t *shift;   /* [out_c], at most 14 if bias is not null; or null */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t output_zero;
    int16_t low, high; /* range of the fused activation */
    uint8_t left;      /* left shift of sums, 0 to 15 */
} lt_conv_2x2_s16;

void lt_conv_2x2_s16_row(const void *params, const lt_step *step);

/* Put n values of x into a group of four, from position `at` on; at + n <= 4. The others become 0. */
static inline void lt_2x2_fill(int16_t *four, int32_t at, const int16_t *x, int32_t n)
{
    for (int32_t i = 0; i < 4; i++) {
        four[i] = 0;
        if ((i >= at) && (i < (at + n))) {
            four[i] = *x++;
        }
    }
}

/* Parts of the kernel that have other forms for cores with the DSP extension or Helium. They add the
 * products of `fours` groups of four to sums. Sums wrap. */

/* Two channels with one pixel, then both with another one. The weights of the channels are `channel`
 * elements apart, and the pixels are `pixel` elements apart. */
void lt_2x2_pair(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t pixel,
                  int32_t fours);

/* Four channels with one pixel. `channel` and `other` are `next` and `other` of lt_four (lt_four.h). */
void lt_2x2_single(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t fours, int32_t other);

#endif
