/* SPDX-License-Identifier: Apache-2.0 */
/* lt_binary_helium.c: see lt_binary.h. Sums and products in fours, on cores with Arm's Helium. */
#include "lt_binary.h"

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

/* lt_scale_down of 2 * x. */
static inline int32x4_t scale_down(int32x4_t x, int32_t multiplier, int32_t shift)
{
    x = vqrdmulhq_n_s32(x, multiplier);
    return vrshlq_n_s32(vaddq_s32(x, vshrq_n_s32(x, 31)), -shift);
}

/* Half of what lt_binary.h has: everything there is even. */
static inline int32x4_t add(const lt_addition *p, int32x4_t a, int32x4_t b)
{
    b = vaddq_n_s32(vshlq_n_s32(b, 20), p->b_start / 2);
    b = scale_down(b, p->b_multiplier, p->b_shift);
    b = vaddq_n_s32(vmlaq_n_s32(b, a, 1 << 19), p->start / 2);
    b = vaddq_n_s32(scale_down(b, p->multiplier, p->shift), p->output_zero);
    return vminq_s32(vmaxq_s32(b, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
}

LT_SHARED void lt_add_s8_row(const void *params, const lt_step *step)
{
    const lt_addition p = *(const lt_addition *)params; /* a copy, as stores might alias it */
    const int8_t *a = step->in[0], *b = step->in[1];
    int8_t *out = step->out[0];
    int32_t left = (int32_t)p.pair.inner;
    for (; left >= 4; left -= 4, a += 4, b += 4, out += 4) {
        vstrbq_s32(out, add(&p, vldrbq_s32(a), vldrbq_s32(b)));
    }
    if (left > 0) {
        mve_pred16_t some = vctp32q((uint32_t)left);
        vstrbq_p_s32(out, add(&p, vldrbq_z_s32(a, some), vldrbq_z_s32(b, some)), some);
    }
}

/* Four elements at most from number `at` on, or one of them in all lanes if `step` is 0. */
LT_INLINE int32x4_t four(const void *row, int32_t at, int32_t step, lt_elem type, mve_pred16_t some)
{
    if (step == 0) {
        return vdupq_n_s32(lt_get(row, at, type));
    }
    switch (type) {
    case LT_U8:
        return vreinterpretq_s32_u32(vldrbq_z_u32((const uint8_t *)row + at, some));
    case LT_S16:
        return vldrhq_z_s32((const int16_t *)row + at, some);
    default:
        return vldrbq_z_s32((const int8_t *)row + at, some);
    }
}

/* Half of the sum of any operands, of which either may be subtracted. */
LT_INLINE int32x4_t add_pair(const lt_addition *p, int32x4_t a, int32x4_t b, lt_elem type)
{
    b = vaddq_n_s32(vshlq_r_s32(b, (type == LT_S16) ? 15 : 20), p->b_start / 2);
    b = scale_down(b, p->b_multiplier, p->b_shift);
    a = vmlaq_n_s32(vdupq_n_s32(p->start / 2), a, p->a_factor / 2);
    a = vmlaq_n_s32(a, b, p->b_factor / 2);
    a = vaddq_n_s32(scale_down(a, p->multiplier, p->shift), p->output_zero);
    return vminq_s32(vmaxq_s32(a, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
}

/* Four elements at most to number `at` on. */
LT_INLINE void put_four(void *row, int32_t at, int32x4_t x, lt_elem type, mve_pred16_t some)
{
    if (type == LT_S16) {
        vstrhq_p_s32((int16_t *)row + at, x, some);
    } else {
        vstrbq_p_s32((int8_t *)row + at, x, some);
    }
}

/* An operand of a round: its elements, or four copies of the one that it is. */
LT_INLINE const void *operand(const void *row, int32_t at, int32_t step, int16_t copies[4], lt_elem type)
{
    if (step == 0) {
        put_four(copies, 0, vdupq_n_s32(lt_get(row, at, type)), type, vctp32q(4));
        return copies;
    }
    return (const uint8_t *)row + (at * ((type == LT_S16) ? 2 : 1));
}

/* All rounds of a row. */
LT_INLINE void add_rounds(const lt_addition *p, const lt_step *step, lt_elem type)
{
    const int32_t a_step = p->pair.a_step, b_step = p->pair.b_step, inner = (int32_t)p->pair.inner;
    const int32_t size = (type == LT_S16) ? 2 : 1, a_four = 4 * size * a_step, b_four = 4 * size * b_step;
    const int32_t a_next = (a_step * inner) + p->pair.a_next, b_next = (b_step * inner) + p->pair.b_next;
    int32_t a = 0, b = 0;
    uint8_t *out = step->out[0];
    for (uint32_t left = p->pair.outer; left > 0; left--, a += a_next, b += b_next, out += size * inner) {
        int16_t copies[2][4];
        const uint8_t *x = operand(step->in[0], a, a_step, copies[0], type);
        const uint8_t *y = operand(step->in[1], b, b_step, copies[1], type);
        uint8_t *to = out;
        for (int32_t of = inner; of > 0; of -= 4, x += a_four, y += b_four, to += 4 * size) {
            mve_pred16_t some = vctp32q((uint32_t)of);
            int32x4_t sum = add_pair(p, four(x, 0, 1, type, some), four(y, 0, 1, type, some), type);
            put_four(to, 0, sum, type, some);
        }
    }
}

#define LT_ADD(name, type)                                                                          \
    LT_SHARED void lt_add_##name(const void *params, const lt_step *step)                           \
    {                                                                                               \
        const lt_addition p = *(const lt_addition *)params;                                         \
        add_rounds(&p, step, type);                                                                 \
    }

LT_ADD(u8_row, LT_U8)
LT_ADD(s16_row, LT_S16)
LT_ADD(s8_pair, LT_S8)
LT_ADD(u8_pair, LT_U8)
LT_ADD(s16_pair, LT_S16)

/* Products scaled as lt_scale does: -1 is added to what is below zero only if it is shifted right. */
LT_INLINE int32x4_t multiply(const lt_mul *p, int32x4_t a, int32x4_t b)
{
    int32_t left = (p->shift > 0) ? p->shift : 0, right = (p->shift > 0) ? 0 : p->shift;
    int32x4_t x = vmulq_s32(vsubq_n_s32(a, p->a_zero), vsubq_n_s32(b, p->b_zero));
    x = vqrdmulhq_n_s32(vshlq_r_s32(x, left), p->multiplier);
    x = vqaddq_s32(x, vshrq_n_s32(vandq_s32(x, vdupq_n_s32(right)), 31));
    x = vaddq_n_s32(vrshlq_n_s32(x, right), p->output_zero);
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
}

LT_INLINE void multiply_row(const void *params, const lt_step *step, lt_elem type)
{
    const lt_mul p = *(const lt_mul *)params; /* a copy, as stores might alias it */
    int32_t a = 0, b = 0, out = 0;
    for (uint32_t o = 0; o < p.pair.outer; o++, a += p.pair.a_next, b += p.pair.b_next) {
        for (int32_t left = (int32_t)p.pair.inner; left > 0; left -= 4) {
            int32_t n = (left < 4) ? left : 4;
            mve_pred16_t some = vctp32q((uint32_t)left);
            int32x4_t x = four(step->in[0], a, p.pair.a_step, type, some);
            x = multiply(&p, x, four(step->in[1], b, p.pair.b_step, type, some));
            put_four(step->out[0], out, x, type, some);
            a += p.pair.a_step * n;
            b += p.pair.b_step * n;
            out += n;
        }
    }
}

LT_SHARED void lt_mul_s8_pair(const void *params, const lt_step *step)
{
    multiply_row(params, step, LT_S8);
}

LT_SHARED void lt_mul_u8_pair(const void *params, const lt_step *step)
{
    multiply_row(params, step, LT_U8);
}

LT_SHARED void lt_mul_s16_pair(const void *params, const lt_step *step)
{
    multiply_row(params, step, LT_S16);
}

#endif
