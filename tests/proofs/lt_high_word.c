/* SPDX-License-Identifier: Apache-2.0 */
/* lt_high_word: round(a * b / 2^32), halves up. */
#include "contracts.h"

static int harness(void)
{
    ANY(int32_t, a);
    ANY(int32_t, b);
    ASSUME(CONTRACT_lt_high_word);
    CHECK(lt_high_word(a, b) == (int32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32));
    return 1;
}
