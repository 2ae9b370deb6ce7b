/* SPDX-License-Identifier: Apache-2.0 */
/* lt_scale_wide: TFLite's MultiplyByQuantizedMultiplier of 64 bits. */
#include "contracts.h"

static int harness(void)
{
    ANY(int64_t, x);
    ANY(int32_t, multiplier);
    ANY(int32_t, shift);
    ASSUME(CONTRACT_lt_scale_wide);
    int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    int64_t rounded = x * (int64_t)reduced + ((int64_t)1 << (14 - shift));
    CHECK(lt_scale_wide(x, multiplier, shift) == (int32_t)(rounded >> (15 - shift)));
    return 1;
}
