/* SPDX-License-Identifier: Apache-2.0 */
/* lt_scale_down: lt_scale(a / 2, b, -shift), for an even a. */
#include "reference.h"

static int harness(void)
{
    ANY(int32_t, a);
    ANY(int32_t, b);
    ANY(int32_t, shift);
    ASSUME(CONTRACT_lt_scale_down);
    ASSUME(a % 2 == 0);
    CHECK(lt_scale_down(a, b, (int32_t)(1U << (shift - 1)), shift) == scaled(a / 2, b, -shift));
    return 1;
}
