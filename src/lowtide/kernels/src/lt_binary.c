/* SPDX-License-Identifier: Apache-2.0 */
/* lt_binary.c: see lt_binary.h. */
#include "lt_binary.h"

#include "lt_fixed.h"

/* `x` saturated to a type of bytes or int16. */
LT_INLINE int32_t saturated(int32_t x, lt_elem type)
{
#ifdef LT_DSP
    if (type == LT_U8) {
        __asm__("usat %0, #8, %0" : "+r"(x));
    } else if (type == LT_S16) {
        __asm__("ssat %0, #16, %0" : "+r"(x));
    } else {
        __asm__("ssat %0, #8, %0" : "+r"(x));
    }
    return x;
#else
    return lt_clamp(x, lt_least(type), lt_greatest(type));
#endif
}

/* What the second operand adds. */
LT_INLINE int32_t share_of_b(const lt_addition *p, int32_t b, lt_elem type)
{
    int32_t left = (type == LT_S16) ? (1 << 16) : (1 << 21), half = 1 << (p->b_shift - 1);
    return lt_scale_down((b * left) + p->b_start, p->b_multiplier, half, p->b_shift) * p->b_factor;
}

/* The result of a sum, saturated. */
LT_INLINE int32_t result_of(const lt_addition *p, int32_t sum, lt_elem type)
{
    int32_t half = 1 << (p->shift - 1);
    return saturated(lt_scale_down(sum, p->multiplier, half, p->shift) + p->output_zero, type);
}

/* Runs of sums of two operands that both go on. Results are saturated, and clamped later. */
LT_INLINE void add_both(const lt_addition *p, const uint8_t *a, const uint8_t *b, uint8_t *out, lt_elem type)
{
    const int32_t size = (type == LT_S16) ? 2 : 1, run = size * (int32_t)p->pair.inner;
    const int32_t a_next = size * p->pair.a_next, b_next = size * p->pair.b_next;
    for (uint32_t left = p->pair.outer; left > 0; left--, a += a_next, b += b_next) {
        for (const uint8_t *end = out + run; out != end; a += size, b += size, out += size) {
            int32_t sum = p->start + (lt_get(a, 0, type) * p->a_factor);
            lt_put(out, 0, result_of(p, sum + share_of_b(p, lt_get(b, 0, type), type), type), type);
        }
    }
}

/* The same where one of them, or both, are one element in each run: what that adds is made once. */
LT_INLINE void add_one(const lt_addition *p, const uint8_t *a, const uint8_t *b, uint8_t *out, lt_elem type)
{
    const int32_t size = (type == LT_S16) ? 2 : 1, inner = (int32_t)p->pair.inner;
    const int32_t a_next = size * ((p->pair.a_step * inner) + p->pair.a_next);
    const int32_t b_next = size * ((p->pair.b_step * inner) + p->pair.b_next);
    for (uint32_t left = p->pair.outer; left > 0; left--, a += a_next, b += b_next, out += size * inner) {
        int32_t start = p->start;
        if (p->pair.a_step == 0) {
            start += lt_get(a, 0, type) * p->a_factor;
        }
        if (p->pair.b_step == 0) {
            start += share_of_b(p, lt_get(b, 0, type), type);
        }
        for (int32_t i = 0; i < inner; i++) {
            int32_t sum = start;
            if (p->pair.a_step != 0) {
                sum += lt_get(a, i, type) * p->a_factor;
            } else { /* then the other one does: lower/broadcast.py */
                sum += share_of_b(p, lt_get(b, i, type), type);
            }
            lt_put(out, i, result_of(p, sum, type), type);
        }
    }
}

/* A row of sums. */
LT_INLINE void add_row(const void *params, const lt_step *step, lt_elem type)
{
    const lt_addition p = *(const lt_addition *)params; /* a copy, as stores might alias it */
    if ((p.pair.a_step != 0) && (p.pair.b_step != 0)) {
        add_both(&p, step->in[0], step->in[1], step->out[0], type);
    } else {
        add_one(&p, step->in[0], step->in[1], step->out[0], type);
    }
    if ((p.low > lt_least(type)) || (p.high < lt_greatest(type))) {
        int32_t count = (int32_t)(p.pair.outer * p.pair.inner);
        for (int32_t i = 0; i < count; i++) {
            lt_put(step->out[0], i, lt_clamp(lt_get(step->out[0], i, type), p.low, p.high), type);
        }
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

/* A run of products of bytes, of which twice one fits 18 bits; with a factor that is `large`, of 1/2 or more,
 * there is no second rounding. */
LT_INLINE void multiply_run(const lt_mul *p, const uint8_t *a, const uint8_t *b, uint8_t *out, lt_elem type,
                            int32_t large)
{
    int32_t right = large ? 0 : -p->shift, half = large ? 0 : (1 << (right - 1));
    int32_t a_zero = p->a_zero, b_zero = p->b_zero, multiplier = p->multiplier, zero = p->output_zero;
    int32_t a_step = p->pair.a_step, b_step = p->pair.b_step;
    for (const uint8_t *end = out + p->pair.inner; out != end; out++, a += a_step, b += b_step) {
        int32_t x = lt_get(a, 0, type) - a_zero, y = lt_get(b, 0, type) - b_zero, made;
        if (large != 0) {
            made = lt_high_by((int32_t)((uint32_t)(x * y) << p->shift), multiplier) + zero;
        } else {
            int32_t twice = x * (2 * y);
            made = (lt_high_mul_add(twice, multiplier, half + (twice >> 31)) >> right) + zero;
        }
        lt_put(out, 0, saturated(made, type), type);
    }
}

LT_INLINE void multiply_bytes(const void *params, const lt_step *step, lt_elem type)
{
    const lt_mul p = *(const lt_mul *)params; /* a copy, as stores might alias it */
    const uint8_t *a = step->in[0], *b = step->in[1];
    uint8_t *out = step->out[0];
    int32_t inner = (int32_t)p.pair.inner, a_next = (p.pair.a_step * inner) + p.pair.a_next;
    int32_t b_next = (p.pair.b_step * inner) + p.pair.b_next;
    for (uint32_t left = p.pair.outer; left > 0; left--, a += a_next, b += b_next, out += inner) {
        if (p.shift >= 0) {
            multiply_run(&p, a, b, out, type, 1);
        } else {
            multiply_run(&p, a, b, out, type, 0);
        }
    }
    if ((p.low > lt_least(type)) || (p.high < lt_greatest(type))) {
        const uint8_t *end = out;
        for (out = step->out[0]; out != end; out++) {
            lt_put(out, 0, lt_clamp(lt_get(out, 0, type), p.low, p.high), type);
        }
    }
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

#define LT_ADD(name, type)                                            \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                                 \
        add_row(params, step, type);                                  \
    }

#define LT_MUL(name, type)                                            \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                                 \
        multiply_bytes(params, step, type);                           \
    }

#define LT_PAIR(name, struct_, type, op) LT_PAIR_KERNEL(name, struct_, type, type, op)

#ifndef LT_HELIUM
LT_ADD(add_s8_row, LT_S8)
LT_ADD(add_u8_row, LT_U8)
LT_ADD(add_s16_row, LT_S16)
LT_ADD(add_s8_pair, LT_S8)
LT_ADD(add_u8_pair, LT_U8)
LT_ADD(add_s16_pair, LT_S16)
LT_MUL(mul_s8_pair, LT_S8)
LT_MUL(mul_u8_pair, LT_U8)
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
