/* SPDX-License-Identifier: Apache-2.0 */
/* lt_nearest: x rounded, halves away from zero, limited to a million. */
#include "contracts.h"

static int harness(void)
{
    ANY(double, x);
    ASSUME(CONTRACT_lt_nearest);
    int32_t y = lt_nearest(x);
    CHECK(y >= -1000000 && y <= 1000000);
    CHECK(x <= 1e6 || y == 1000000);
    CHECK(x >= -1e6 || y == -1000000);
    double off = x - y;
    CHECK(x < -1e6 || x > 1e6 || (off <= 0.5 && off >= -0.5));
    CHECK(off != 0.5 || y < 0 || x > 1e6);
    CHECK(off != -0.5 || y > 0 || x < -1e6);
    return 1;
}
