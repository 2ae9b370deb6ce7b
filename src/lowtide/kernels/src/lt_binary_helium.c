/* SPDX-License-Identifier: Apache-2.0 */
/* lt_binary_helium.c: see lt_binary.h. Sums of int8 in fours, on cores with Arm's Helium. */
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

#endif
