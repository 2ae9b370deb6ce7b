/* SPDX-License-Identifier: Apache-2.0 */
/* lt_divide_by_pot: round(x / 2^exponent), halves away from zero. */
#include "reference.h"

static int harness(void)
{
    ANY(int32_t, x);
    ANY(int32_t, exponent);
    ASSUME(CONTRACT_lt_divide_by_pot);
    CHECK(lt_divide_by_pot(x, exponent) == away_from_zero(x, exponent));
    return 1;
}
