/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16_dsp.c: see lt_depthwise_s16.h. For cores with Arm's DSP extension. */
#include "lt_depthwise_s16.h"

#include <stddef.h>

#include "lt_fixed.h"

#ifdef LT_DSP

/* sum + a product of halves, low or high (B, T), of two words. */
#define HALVES(sum, which, a, b) __asm__("smla" which " %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b))

LT_SHARED void lt_depthwise_s16_four(const lt_depthwise_s16 *p, const void *const *rows, int32_t first,
                                     int32_t from, int32_t to, int32_t c, int32_t *sums)
{
    int32_t channels = p->in_c, step = p->dilation_w * channels;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    const int8_t *weights = p->weights + c;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, weights += p->kernel_w * channels) {
        const int16_t *row = rows[ky];
        if ((row == NULL) || (from >= to)) {
            continue;
        }
        const int16_t *x = row + ((first + (from * p->dilation_w)) * channels) + c;
        const int8_t *w = weights + (from * channels);
        for (int32_t left = to - from; left != 0; left--) {
            int32_t four = lt_load(w), even = lt_even(four), odd = lt_odd(four);
            int32_t x01 = lt_load(x), x23 = lt_load(x + 2);
            HALVES(s0, "bb", x01, even);
            HALVES(s1, "tb", x01, odd);
            HALVES(s2, "bt", x23, even);
            HALVES(s3, "tt", x23, odd);
            x += step;
            w += channels;
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

#endif
