/* SPDX-License-Identifier: Apache-2.0 */
/* lt_binary.c: see lt_binary.h. */
#include "lt_binary.h"

#include "lt_fixed.h"

/* One element of ADD or SUB, from a's share of the sum. */
LT_INLINE int32_t add_b(const lt_addition *p, int32_t sum, int32_t b, int32_t b_factor, lt_elem type)
{
    int32_t left = type == LT_S16 ? 1 << 16 : 1 << 21;
    int32_t b_half = 1 << (p->b_shift - 1);
    int32_t half = 1 << (p->shift - 1);
    sum += lt_scale_down(b * left + p->b_start, p->b_multiplier, b_half, p->b_shift) * b_factor;
    sum = lt_scale_down(sum, p->multiplier, half, p->shift) + p->output_zero;
    return lt_clamp(sum, p->low, p->high);
}

LT_INLINE int32_t add(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_addition *p = params;
    return add_b(p, p->start + a * p->a_factor, b, p->b_factor, type);
}

LT_INLINE void add_row(const void *params, const lt_step *step, lt_elem type)
{
    const lt_addition p = *(const lt_addition *)params; /* a copy, as stores might alias it */
    int32_t left = type == LT_S16 ? 1 << 15 : 1 << 20;
    const void *a = step->in[0];
    const void *b = step->in[1];
    void *out = step->out[0];
    int32_t count = (int32_t)p.pair.inner;
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = p.start + lt_get(a, i, type) * left;
        lt_put(out, i, add_b(&p, sum, lt_get(b, i, type), 2, type), type);
    }
}

LT_INLINE int32_t multiply(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_mul *p = params;
    (void)type;
    int32_t product = (a - p->a_zero) * (b - p->b_zero);
    product = lt_scale(product, p->multiplier, p->shift) + p->output_zero;
    return lt_clamp(product, p->low, p->high);
}

LT_INLINE int32_t prelu(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_prelu *p = params;
    a -= p->a_zero;
    if (a >= 0) {
        a = lt_scale(a, p->positive_multiplier, p->positive_shift);
    } else {
        a = lt_scale(a * (b - p->b_zero), p->negative_multiplier, p->negative_shift);
    }
    return lt_clamp(a + p->output_zero, lt_least(type), lt_greatest(type));
}

#define LT_ROW(name, type)                                  \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                       \
        add_row(params, step, type);                        \
    }

#define LT_PAIR(name, struct_, type, op) LT_PAIR_KERNEL(name, struct_, type, type, op)

#ifndef LT_HELIUM
LT_ROW(add_s8_row, LT_S8)
#endif
LT_ROW(add_u8_row, LT_U8)
LT_ROW(add_s16_row, LT_S16)
LT_PAIR(add_s8_pair, lt_addition, LT_S8, add)
LT_PAIR(add_u8_pair, lt_addition, LT_U8, add)
LT_PAIR(add_s16_pair, lt_addition, LT_S16, add)
#ifndef LT_HELIUM
LT_PAIR(mul_s8_pair, lt_mul, LT_S8, multiply)
LT_PAIR(mul_u8_pair, lt_mul, LT_U8, multiply)
LT_PAIR(mul_s16_pair, lt_mul, LT_S16, multiply)
#endif
LT_PAIR(prelu_s8_pair, lt_prelu, LT_S8, prelu)
LT_PAIR(prelu_u8_pair, lt_prelu, LT_U8, prelu)
LT_PAIR(min_s8_pair, lt_pair, LT_S8, lt_lesser)
LT_PAIR(min_u8_pair, lt_pair, LT_U8, lt_lesser)
LT_PAIR(min_s16_pair, lt_pair, LT_S16, lt_lesser)
LT_PAIR(max_s8_pair, lt_pair, LT_S8, lt_greater)
LT_PAIR(max_u8_pair, lt_pair, LT_U8, lt_greater)
LT_PAIR(max_s16_pair, lt_pair, LT_S16, lt_greater)

LT_SHARED void lt_prelu_s16_pair(const void *params, const lt_step *step)
{
    const lt_prelu p = *(const lt_prelu *)params;
    lt_run_pair(&p.pair, step, LT_S16, LT_S8, LT_S16, prelu, &p);
}
