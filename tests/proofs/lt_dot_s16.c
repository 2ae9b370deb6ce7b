/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dot_s16: the sum of products, of which none overflows. */
#include "contracts.h"

#ifdef __CPROVER__
enum { MOST = 6 };
#else
enum { MOST = 700 }; /* more than two runs of 256 */
#endif

static int harness(void)
{
    ANY(int32_t, n);
#ifdef __CPROVER__
    ASSUME(CONTRACT_lt_dot_s16);
    int16_t a[MOST];
    int8_t b[MOST];
#else
    static int16_t a[MOST];
    static int8_t b[MOST];
    n = (int32_t)((uint32_t)n % (MOST + 1));
    for (int32_t i = 0; i < n; i++) {
        harness_any(&a[i], sizeof a[i]);
        harness_any(&b[i], sizeof b[i]);
    }
#endif
    int64_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += (int64_t)a[i] * b[i];
    }
    CHECK(lt_dot_s16(a, b, n) == sum);
    return 1;
}
