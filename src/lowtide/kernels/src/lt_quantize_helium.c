/* SPDX-License-Identifier: Apache-2.0 */
/* lt_quantize_helium.c: see lt_quantize.h. Floats in fours, on cores with Arm's Helium. */
#include "lt_quantize.h"

#include "lt_fixed.h"

#ifdef LT_HELIUM_FLOAT

#include <arm_mve.h>

LT_SHARED void lt_quantize_s8_row(const void *params, const lt_step *step)
{
    const lt_quantize *p = params;
    const float *in = step->in[0];
    int8_t *out = step->out[0];
    float scale = p->scale;
    float32x4_t low = vdupq_n_f32((float)(INT8_MIN - p->zero)), high = vdupq_n_f32((float)(INT8_MAX - p->zero));
    for (int32_t left = (int32_t)p->count; left > 0; left -= 4, in += 4, out += 4) {
        mve_pred16_t some = vctp32q((uint32_t)left);
        register float32x4_t x __asm__("q0") = vldrwq_z_f32(in, some);
        /* There is no division of vectors: their lanes are registers of their own. */
        __asm__("vdiv.f32 s0, s0, %1\n\t"
                "vdiv.f32 s1, s1, %1\n\t"
                "vdiv.f32 s2, s2, %1\n\t"
                "vdiv.f32 s3, s3, %1"
                : "+w"(x)
                : "t"(scale));
        /* What is no number becomes the least, as in lt_quantize.c. */
        x = vminnmq_f32(vmaxnmq_f32(x, low), high);
        /* To nearest, halves away from zero. */
        vstrbq_p_s32(out, vaddq_n_s32(vcvtaq_s32_f32(x), p->zero), some);
    }
}

#endif
