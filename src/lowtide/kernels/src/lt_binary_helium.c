/* SPDX-License-Identifier: Apache-2.0 */
/* lt_binary_helium.c: see lt_binary.h. Sums of int8 and products in fours, on cores with Arm's Helium. */
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
            if (type == LT_S16) {
                vstrhq_p_s32((int16_t *)step->out[0] + out, x, some);
            } else {
                vstrbq_p_s32((int8_t *)step->out[0] + out, x, some);
            }
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
