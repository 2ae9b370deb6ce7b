/* SPDX-License-Identifier: Apache-2.0 */
/* lt_narrow: lt_scale and a zero point, without branches. */
#include "reference.h"

/* What the helper adds, in 64 bits; one more or less must fit, too. */
static int64_t sum_of(int32_t x, int32_t multiplier, int32_t zero, int32_t shift)
{
    return doubled_high(x, multiplier) + (2 * zero + 1) * ((int64_t)1 << shift);
}

static int harness(void)
{
    ANY(int32_t, x);
    ANY(int32_t, multiplier);
    ANY(int32_t, shift);
    ANY(int32_t, zero);
    ASSUME(CONTRACT_lt_narrow);
    int32_t centre = lt_centre(2 * zero + 1, shift);
    CHECK(lt_narrow(2 * x, multiplier, centre, shift) == scaled(x, multiplier, -1 - shift) + zero);
    return 1;
}
