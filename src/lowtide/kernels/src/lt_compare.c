/* lt_compare.c: see lt_compare.h. */
#include "lt_compare.h"

#include "lt_fixed.h"

/* 1 if one of the conditions `when` holds. */
static int32_t holds(uint32_t when, int less, int greater)
{
    return (int32_t)(when >> (less ? 0 : greater ? 2 : 1) & 1U);
}

LT_INLINE int32_t plain(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_compare *p = params;
    (void)type;
    return holds(p->when, a < b, a > b);
}

LT_INLINE int32_t scaled(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_compare_scaled *p = params;
    (void)type;
    a = lt_scale((a - p->a_zero) * 256, p->a_multiplier, p->a_shift);
    b = lt_scale((b - p->b_zero) * 256, p->b_multiplier, p->b_shift);
    return holds(p->when, a < b, a > b);
}

void lt_compare_s64_pair(const void *params, const lt_step *step)
{
    const lt_compare *c = params;
    const lt_pair *p = &c->pair;
    const int64_t *a = step->in[0];
    const int64_t *b = step->in[1];
    uint8_t *out = step->out[0];
    for (uint32_t o = 0; o < p->outer; o++) {
        for (uint32_t i = 0; i < p->inner; i++) {
            *out++ = (uint8_t)holds(c->when, *a < *b, *a > *b);
            a += p->a_step;
            b += p->b_step;
        }
        a += p->a_next;
        b += p->b_next;
    }
}

LT_PAIR_KERNEL(compare_b8_pair, lt_compare, LT_U8, LT_U8, plain)
LT_PAIR_KERNEL(compare_s32_pair, lt_compare, LT_S32, LT_U8, plain)
LT_PAIR_KERNEL(compare_s8_pair, lt_compare_scaled, LT_S8, LT_U8, scaled)
LT_PAIR_KERNEL(compare_u8_pair, lt_compare_scaled, LT_U8, LT_U8, scaled)
