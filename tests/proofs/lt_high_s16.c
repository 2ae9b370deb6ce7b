/* SPDX-License-Identifier: Apache-2.0 */
/* lt_high_s16: round(a * b / 2^32) + c, saturated to int16. */
#include "contracts.h"

static int64_t sum_of(int32_t a, int32_t b, int32_t c)
{
    return (((int64_t)a * b + ((int64_t)1 << 31)) >> 32) + c;
}

static int harness(void)
{
    ANY(int32_t, a);
    ANY(int32_t, b);
    ANY(int32_t, c);
    ASSUME(CONTRACT_lt_high_s16);
    int64_t sum = sum_of(a, b, c);
    CHECK(lt_high_s16(a, b, c) == (sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum));
    return 1;
}
