/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dots_helium.c: see lt_dots.h. For cores with Arm's Helium. */
#include "lt_dots.h"

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

LT_SHARED void lt_dots_s8(int32_t *sums, const int8_t *w, int32_t next, const int8_t *x, int32_t n,
                          int32_t other)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    const int8_t *v = w + other;
    for (; n > 0; n -= 16, x += 16, w += 16, v += 16) {
        mve_pred16_t some = vctp8q((uint32_t)n);
        int8x16_t each = vldrbq_z_s8(x, some);
        a = vmladavaq_s8(a, each, vldrbq_z_s8(w, some));
        b = vmladavaq_s8(b, each, vldrbq_z_s8(w + next, some));
        c = vmladavaq_s8(c, each, vldrbq_z_s8(v, some));
        d = vmladavaq_s8(d, each, vldrbq_z_s8(v + next, some));
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

#endif
