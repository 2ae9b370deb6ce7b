/* SPDX-License-Identifier: Apache-2.0 */
/* lt_clamp: the value from `low` to `high` that is nearest. */
#include "contracts.h"

static int harness(void)
{
    ANY(int32_t, x);
    ANY(int32_t, low);
    ANY(int32_t, high);
    ASSUME(CONTRACT_lt_clamp);
    int32_t y = lt_clamp(x, low, high);
    CHECK(y >= low && y <= high);
    CHECK(x < low || x > high || y == x);
    CHECK(x >= low || y == low);
    CHECK(x <= high || y == high);
    return 1;
}
