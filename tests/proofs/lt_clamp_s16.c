/* SPDX-License-Identifier: Apache-2.0 */
/* lt_clamp_s16: the value of int16 that is nearest. */
#include "contracts.h"

static int harness(void)
{
    ANY(int32_t, x);
    ASSUME(CONTRACT_lt_clamp_s16);
    int32_t y = lt_clamp_s16(x);
    CHECK(y >= INT16_MIN && y <= INT16_MAX);
    CHECK(x < INT16_MIN || x > INT16_MAX || y == x);
    CHECK(x <= INT16_MAX || y == INT16_MAX);
    CHECK(x >= INT16_MIN || y == INT16_MIN);
    return 1;
}
