/* SPDX-License-Identifier: Apache-2.0 */
/* lt_scale: TFLite's MultiplyByQuantizedMultiplier of 32 bits. */
#include "reference.h"

static int harness(void)
{
    ANY(int32_t, x);
    ANY(int32_t, multiplier);
    ANY(int32_t, shift);
    ASSUME(CONTRACT_lt_scale);
    CHECK(lt_scale(x, multiplier, shift) == scaled(x, multiplier, shift));
    return 1;
}
