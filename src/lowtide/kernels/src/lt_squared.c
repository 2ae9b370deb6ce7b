/* SPDX-License-Identifier: Apache-2.0 */
/* lt_squared.c: see lt_squared.h. */
#include "lt_squared.h"

#include "lt_fixed.h"

LT_INLINE int32_t squared(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_squared *p = params;
    int32_t unit = (type == LT_S16) ? 1 : (1 << 7);
    a = lt_scale((a - p->a_zero) * unit, p->a_multiplier, p->a_shift);
    b = lt_scale((b - p->b_zero) * unit, p->b_multiplier, p->b_shift);
    a = lt_scale((a - b) * (a - b), p->multiplier, p->shift);
    return lt_clamp(lt_add(a, p->output_zero), lt_least(type), lt_greatest(type));
}

LT_PAIR_KERNEL(squared_difference_s8_pair, lt_squared, LT_S8, LT_S8, squared)
LT_PAIR_KERNEL(squared_difference_s16_pair, lt_squared, LT_S16, LT_S16, squared)
