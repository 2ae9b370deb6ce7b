/* SPDX-License-Identifier: Apache-2.0 */
/* lt_high_by: the same as lt_high_mul for 0 <= b, where it may be made of halves. */
#include "reference.h"

static int harness(void)
{
    ANY(int32_t, a);
    ANY(int32_t, b);
    ASSUME(CONTRACT_lt_high_by);
    CHECK(lt_high_by(a, b) == doubled_high(a, b));
    return 1;
}
