/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_2x2.h: CONV_2D and FULLY_CONNECTED, int16 activations, int8 weights, one group.
 *
 * A quicker form of lt_conv_s16.h, without scratch memory: two channels times two pixels at once, or four
 * channels of one pixel, from where the pixels are. Padding is 0 in the reference, so it is left out.
 *
 * Weights come in fours of products, of which the middle two have changed places: 0, 2, 1, 3. So a word of
 * them, unpacked by Arm's DSP extension, meets the words of the pixel. Each row of the window begins a new
 * four, the last of a row is padded with zeros.
 *
 * Sums are made and scaled in one of three ways:
 *   - in 32 bits, where no partial sum can overflow, also when shifted left by `left`, as it is then, and with
 *     one product: `shift` is null. `start` is the bias and `factor` 16 bits of the multiplier, shifted, for
 *     lt_high_s16;
 *   - in 64 bits, where `bias` is not null, with lt_scale_wide;
 *   - modulo 2^32 from `start` on, with lt_scale, as the reference has it for biases of 32 bits.
 */
#ifndef LT_CONV_2X2_H
#define LT_CONV_2X2_H

#include "lowtide.h"
#include "lt_four.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * out_c int16; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const int8_t *weights; /* [out_c][kernel_h][ceil(kernel_w * in_c / 4)][4] */
    const int64_t *bias;   /* [out_c], or null */
    const int32_t *start;  /* [out_c]; null if bias is not */
    const int32_t *factor; /* [out_c]; the multipliers if shift is not null */
    const int8_t *shift;   /* [out_c], at most 14 with a bias; or null */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t output_zero;
    int16_t low, high; /* the fused activation's range */
    uint8_t left;      /* 0 to 15 */
} lt_conv_2x2_s16;

void lt_conv_2x2_s16_row(const void *params, const lt_step *step);

/* n products as a four, from its value `at` on; at + n <= 4. Its other values are 0. */
static inline void lt_2x2_fill(int16_t *four, int32_t at, const int16_t *x, int32_t n)
{
    for (int32_t i = 0; i < 4; i++) {
        four[i] = 0;
        if ((i >= at) && (i < (at + n))) {
            four[i] = *x++;
        }
    }
}

/* The parts of it that have other forms where there is a DSP extension or Helium: add the products of
 * `fours` fours to sums. Sums wrap. */

/* Of two channels with a pixel, then of both with another one; the weights and the pixels are `channel`
 * and `pixel` elements apart. */
void lt_2x2_pair(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t pixel,
                  int32_t fours);

/* Of four channels with a pixel, as lt_four.h has them. */
void lt_2x2_single(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t fours, int32_t other);

#endif
