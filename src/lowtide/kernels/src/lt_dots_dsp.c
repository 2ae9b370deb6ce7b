/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dots_dsp.c: see lt_dots.h. For cores with Arm's DSP extension. */
#include "lt_dots.h"

#include "lt_fixed.h"

#if defined(LT_DSP) && !defined(LT_HELIUM)

/* sum + four products; x is unpacked. */
static inline int32_t four(int32_t sum, int32_t w, int32_t even, int32_t odd)
{
    return lt_dual(lt_odd(w), odd, lt_dual(lt_even(w), even, sum));
}

LT_SHARED void lt_dots_s8(int32_t *sums, const int8_t *w, int32_t row, const int8_t *x, int32_t n)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    const int8_t *v = w + 2 * row, *end = x + (n & ~3);
    while (x != end) {
        int32_t odd = lt_load(x), even = lt_even(odd);
        odd = lt_odd(odd);
        x += 4;
        b = four(b, lt_load(w + row), even, odd);
        a = four(a, lt_load(w), even, odd);
        w += 4;
        d = four(d, lt_load(v + row), even, odd);
        c = four(c, lt_load(v), even, odd);
        v += 4;
    }
    for (n &= 3; n > 0; n--, w++, v++) {
        int32_t each = *x++;
        a = lt_add(a, each * w[0]);
        b = lt_add(b, each * w[row]);
        c = lt_add(c, each * v[0]);
        d = lt_add(d, each * v[row]);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

#endif
