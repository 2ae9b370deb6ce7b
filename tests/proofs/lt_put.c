/* SPDX-License-Identifier: Apache-2.0 */
/* lt_put and lt_get: what is put is what is got, and nothing beside it changes. */
#include "contracts.h"

static int harness(void)
{
    ANY(int32_t, value);
    ANY(int32_t, type);
    ASSUME(CONTRACT_lt_put);
    int32_t row[4] = {0x55555555, 0x55555555, 0x55555555, 0x55555555};
    lt_elem elem = (lt_elem)type;
    lt_put(row, 1, value, elem);
    CHECK(lt_get(row, 1, elem) == value);
    int32_t beside = elem == LT_S32 ? 0x55555555 : elem == LT_S16 ? 0x5555 : 0x55;
    CHECK(lt_get(row, 0, elem) == beside && lt_get(row, 2, elem) == beside);
    CHECK(row[2] == 0x55555555 && row[3] == 0x55555555);
    return 1;
}
