/* SPDX-License-Identifier: Apache-2.0 */
/* lt_half_s8: x / 2, halves down, saturated to int8. */
#include "contracts.h"

static int harness(void)
{
    ANY(int32_t, x);
    ASSUME(CONTRACT_lt_half_s8);
    int32_t half = x / 2 - (x % 2 < 0);
    CHECK(lt_half_s8(x) == (half < INT8_MIN ? INT8_MIN : half > INT8_MAX ? INT8_MAX : half));
    return 1;
}
