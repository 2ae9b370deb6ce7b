/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dots.c: see lt_dots.h. */
#include "lt_dots.h"

#include "lt_fixed.h"

#ifndef LT_DSP

LT_SHARED void lt_dots_s8(int32_t *sums, const int8_t *w, int32_t next, const int8_t *x, int32_t n,
                          int32_t other)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    const int8_t *v = w + other;
    for (; n > 0; n--, w++, v++) {
        int32_t each = *x++;
        a = lt_add(a, each * w[0]);
        b = lt_add(b, each * w[next]);
        c = lt_add(c, each * v[0]);
        d = lt_add(d, each * v[next]);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

#endif
