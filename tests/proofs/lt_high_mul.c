/* SPDX-License-Identifier: Apache-2.0 */
/* lt_high_mul: gemmlowp's SaturatingRoundingDoublingHighMul, as TFLite has it. */
#include "reference.h"

static int harness(void)
{
    ANY(int32_t, a);
    ANY(int32_t, b);
    ASSUME(CONTRACT_lt_high_mul);
    CHECK(lt_high_mul(a, b) == doubled_high(a, b));
    return 1;
}
