/* SPDX-License-Identifier: Apache-2.0 */
/* lt_svdf_dsp.c: see lt_svdf.h. For cores with Arm's DSP extension: four values at once. */
#include "lt_svdf.h"

#include "lt_fixed.h"

#ifdef LT_DSP

LT_SHARED int32_t lt_svdf_move(int8_t *state, const int8_t *times, int32_t n, int32_t newest, int32_t sum)
{
    for (; n > 4; n -= 4, state += 4, times += 4) {
        int32_t x = lt_load(state + 1), w = lt_load(times);
        (void)__builtin_memcpy(state, &x, 4);
        sum = lt_dual(lt_even(x), lt_even(w), sum);
        sum = lt_dual(lt_odd(x), lt_odd(w), sum);
    }
    for (; n > 1; n--, state++) {
        state[0] = state[1];
        sum = lt_add(sum, *times++ * state[0]);
    }
    state[0] = (int8_t)newest;
    return lt_add(sum, *times * newest);
}

#endif
