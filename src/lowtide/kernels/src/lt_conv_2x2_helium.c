/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_2x2_helium.c: see lt_conv_2x2.h. For cores with Arm's Helium: eight products at once. */
#include "lt_conv_2x2.h"

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

/* Where the weights of eight products are: the middle two of each four have changed places. */
static inline uint16x8_t places(void)
{
    static const uint16_t order[8] = {0, 2, 1, 3, 4, 6, 5, 7};
    return vld1q_u16(order);
}

LT_SHARED void lt_2x2_pair(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x,
                            int32_t pixel, int32_t fours)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    uint16x8_t at = places();
    for (int32_t left = 4 * fours; left > 0; left -= 8, w += 8, x += 8) {
        mve_pred16_t some = vctp16q((uint32_t)left);
        int16x8_t w0 = vldrbq_gather_offset_z_s16(w, at, some);
        int16x8_t w1 = vldrbq_gather_offset_z_s16(w + channel, at, some);
        int16x8_t x0 = vldrhq_z_s16(x, some), x1 = vldrhq_z_s16(x + pixel, some);
        a = vmladavaq_s16(a, w0, x0);
        b = vmladavaq_s16(b, w1, x0);
        c = vmladavaq_s16(c, w0, x1);
        d = vmladavaq_s16(d, w1, x1);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

LT_SHARED void lt_2x2_single(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x,
                              int32_t fours, int32_t other)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    const int8_t *v = w + other;
    uint16x8_t at = places();
    for (int32_t left = 4 * fours; left > 0; left -= 8, w += 8, v += 8, x += 8) {
        mve_pred16_t some = vctp16q((uint32_t)left);
        int16x8_t products = vldrhq_z_s16(x, some);
        a = vmladavaq_s16(a, vldrbq_gather_offset_z_s16(w, at, some), products);
        b = vmladavaq_s16(b, vldrbq_gather_offset_z_s16(w + channel, at, some), products);
        c = vmladavaq_s16(c, vldrbq_gather_offset_z_s16(v, at, some), products);
        d = vmladavaq_s16(d, vldrbq_gather_offset_z_s16(v + channel, at, some), products);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

#endif
