/* SPDX-License-Identifier: Apache-2.0 */
/* lt_quantize.c: see lt_quantize.h. */
#include "lt_quantize.h"

#include "lt_elem.h"
#include "lt_fixed.h"

LT_INLINE void quantize(const lt_quantize *p, const lt_step *step, lt_elem type)
{
    const float *in = step->in[0];
    int32_t low = lt_least(type) - p->zero;
    int32_t high = lt_greatest(type) - p->zero;
    float scale = p->scale;
    for (uint32_t i = 0; i < p->count; i++) {
        float x = in[i] / scale;
        int32_t rounded = low;
        if (x >= (float)high) {
            rounded = high;
        } else if (x > (float)low) {
            rounded = (int32_t)x; /* towards zero; what it cuts off is exact */
            float rest = x - (float)rounded;
            rounded += (rest >= 0.5f) ? 1 : (rest <= -0.5f) ? -1 : 0;
        }
        lt_put(step->out[0], (int32_t)i, rounded + p->zero, type);
    }
}

LT_INLINE void dequantize(const lt_quantize *p, const lt_step *step, lt_elem type)
{
    float *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        /* The integer is exact as a float, so that there is one rounding, as in the reference. */
        out[i] = (float)(lt_get(step->in[0], (int32_t)i, type) - p->zero) * p->scale;
    }
}

LT_INLINE void requantize(const lt_requantize *p, const lt_step *step, lt_elem from, lt_elem to)
{
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = lt_sub(lt_get(step->in[0], (int32_t)i, from), p->input_zero);
        x = lt_add(lt_scale(x, p->multiplier, p->shift), p->output_zero);
        lt_put(step->out[0], (int32_t)i, lt_clamp(x, lt_least(to), lt_greatest(to)), to);
    }
}

#define LT_ROW(name, body, ...)                                       \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                                 \
        body(params, step, __VA_ARGS__);                              \
    }

#ifndef LT_HELIUM_FLOAT
LT_ROW(quantize_s8_row, quantize, LT_S8)
#endif
LT_ROW(quantize_u8_row, quantize, LT_U8)
LT_ROW(quantize_s16_row, quantize, LT_S16)
LT_ROW(dequantize_s8_row, dequantize, LT_S8)
LT_ROW(dequantize_u8_row, dequantize, LT_U8)
LT_ROW(dequantize_s16_row, dequantize, LT_S16)
LT_ROW(requantize_s8_s16_row, requantize, LT_S8, LT_S16)
LT_ROW(requantize_s16_s8_row, requantize, LT_S16, LT_S8)
LT_ROW(requantize_s16_s16_row, requantize, LT_S16, LT_S16)
LT_ROW(requantize_s8_s32_row, requantize, LT_S8, LT_S32)
LT_ROW(requantize_s16_s32_row, requantize, LT_S16, LT_S32)
LT_ROW(requantize_s32_s8_row, requantize, LT_S32, LT_S8)
LT_ROW(requantize_s32_s16_row, requantize, LT_S32, LT_S16)
LT_ROW(requantize_s32_s32_row, requantize, LT_S32, LT_S32)
LT_ROW(requantize_u8_s16_row, requantize, LT_U8, LT_S16)
LT_ROW(requantize_s16_u8_row, requantize, LT_S16, LT_U8)
LT_ROW(requantize_u8_s32_row, requantize, LT_U8, LT_S32)
LT_ROW(requantize_s32_u8_row, requantize, LT_S32, LT_U8)
