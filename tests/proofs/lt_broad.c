/* SPDX-License-Identifier: Apache-2.0 */
/* lt_broad: lt_scale and a zero point, without branches, of factors of 1/2 and more, too. */
#include "reference.h"

/* What the helper adds where it shifts right, in 64 bits; one more or less must fit, too. */
static int64_t sum_of(int32_t x, int32_t multiplier, int32_t zero, int32_t exponent)
{
    return doubled_high(x, multiplier) + (2 * zero + 1) * ((int64_t)1 << (-1 - exponent));
}

/* The sum shifted left. */
static int64_t left_of(int32_t x, int32_t exponent)
{
    return x * ((int64_t)1 << exponent);
}

static int harness(void)
{
    ANY(int32_t, x);
    ANY(int32_t, multiplier);
    ANY(int32_t, exponent);
    ANY(int32_t, zero);
    ASSUME(CONTRACT_lt_broad);
    int32_t right = exponent < 0 ? -exponent : 0, left = exponent < 0 ? 0 : exponent;
    int32_t shifted = (int32_t)(2 * left_of(x, left));
    int32_t centre = right > 0 ? lt_centre(2 * zero + 1, right - 1) : zero;
    int32_t made = lt_broad(shifted, multiplier, centre, right > 0 ? -1 : 0, right);
    CHECK(made == scaled(x, multiplier, exponent) + zero);
    return 1;
}
