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
        float32x4_t x = vldrwq_z_f32(in, some);
        /* There is no division of vectors. */
        float quotients[4] = {vgetq_lane_f32(x, 0) / scale, vgetq_lane_f32(x, 1) / scale,
                              vgetq_lane_f32(x, 2) / scale, vgetq_lane_f32(x, 3) / scale};
        /* What is no number becomes the least, as in lt_quantize.c. */
        x = vminnmq_f32(vmaxnmq_f32(vldrwq_f32(quotients), low), high);
        /* To nearest, halves away from zero. */
        vstrbq_p_s32(out, vaddq_n_s32(vcvtaq_s32_f32(x), p->zero), some);
    }
}

#endif
