/* SPDX-License-Identifier: Apache-2.0 */
/* lt_int32.c: see lt_int32.h. */
#include "lt_int32.h"

#include "lt_fixed.h"

LT_INLINE int32_t limited(const void *params, int32_t x)
{
    const lt_int32 *p = params;
    return lt_clamp(x, p->low, p->high);
}

LT_INLINE int32_t product(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

LT_INLINE int32_t add(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)type;
    return limited(params, lt_add(a, b));
}

LT_INLINE int32_t subtract(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)type;
    return limited(params, lt_sub(a, b));
}

LT_INLINE int32_t multiply(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)type;
    return limited(params, product(a, b));
}

LT_INLINE int32_t square(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)type;
    int32_t difference = lt_sub(a, b);
    return limited(params, product(difference, difference));
}

LT_INLINE int32_t divide(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)type;
    if (b == 0) {
        return limited(params, 0);
    }
    return limited(params, (b == -1) ? lt_sub(0, a) : (a / b));
}

/* What a / b, rounded towards zero, leaves of a; -1 takes all of any a, and may not divide the least. */
LT_INLINE int32_t left_over(int32_t a, int32_t b)
{
    return ((b == 0) || (b == -1)) ? 0 : (a % b);
}

LT_INLINE int32_t floor_divide(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)params;
    (void)type;
    if ((b == 0) || (b == -1)) {
        return (b == 0) ? 0 : lt_sub(0, a);
    }
    return (a / b) - ((left_over(a, b) != 0) && ((a < 0) != (b < 0)));
}

LT_INLINE int32_t floor_modulo(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)params;
    (void)type;
    int32_t left = left_over(a, b);
    return ((left != 0) && ((a < 0) != (b < 0))) ? (left + b) : left;
}

/* One row of int64, the greater or the lesser of two. */
static void extremes(const lt_pair *p, const lt_step *step, int greater)
{
    const int64_t *a = step->in[0];
    const int64_t *b = step->in[1];
    int64_t *out = step->out[0];
    for (uint32_t o = 0; o < p->outer; o++) {
        for (uint32_t i = 0; i < p->inner; i++) {
            *out++ = ((*a > *b) == greater) ? *a : *b;
            a += p->a_step;
            b += p->b_step;
        }
        a += p->a_next;
        b += p->b_next;
    }
}

LT_SHARED void lt_min_s64_pair(const void *params, const lt_step *step)
{
    extremes(params, step, 0);
}

LT_SHARED void lt_max_s64_pair(const void *params, const lt_step *step)
{
    extremes(params, step, 1);
}

LT_PAIR_KERNEL(add_s32_pair, lt_int32, LT_S32, LT_S32, add)
LT_PAIR_KERNEL(sub_s32_pair, lt_int32, LT_S32, LT_S32, subtract)
LT_PAIR_KERNEL(mul_s32_pair, lt_int32, LT_S32, LT_S32, multiply)
LT_PAIR_KERNEL(squared_difference_s32_pair, lt_int32, LT_S32, LT_S32, square)
LT_PAIR_KERNEL(div_s32_pair, lt_int32, LT_S32, LT_S32, divide)
LT_PAIR_KERNEL(floor_div_s32_pair, lt_pair, LT_S32, LT_S32, floor_divide)
LT_PAIR_KERNEL(floor_mod_s32_pair, lt_pair, LT_S32, LT_S32, floor_modulo)
LT_PAIR_KERNEL(min_s32_pair, lt_pair, LT_S32, LT_S32, lt_lesser)
LT_PAIR_KERNEL(max_s32_pair, lt_pair, LT_S32, LT_S32, lt_greater)
