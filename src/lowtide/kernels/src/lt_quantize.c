/* SPDX-License-Identifier: Apache-2.0 */
/* lt_quantize.c: see lt_quantize.h. */
#include "lt_quantize.h"

#include "lt_elem.h"
#include "lt_fixed.h"

/* `x` rounded, halves away from zero; more than any type of a result holds if it is too large, and less if
 * it is no number. From its bits, since most of what floats do is slow where there is no unit for it. */
LT_INLINE int32_t nearest(float x)
{
    uint32_t bits;
    (void)__builtin_memcpy(&bits, &x, sizeof bits);
    uint32_t exponent = (bits >> 23) & 255u, size = 0;
    uint32_t digits = (bits & 0x7fffffu) | 0x800000u; /* times 2 to the power of exponent - 150 */
    if (exponent > 142u) { /* 65,536 or more */
        size = 1u << 20;
    } else if (exponent > 125u) { /* a half or more */
        uint32_t cut = 150u - exponent;
        size = (digits + (1u << (cut - 1u))) >> cut;
    } else {
        /* nothing */
    }
    int32_t is_less = ((bits >> 31) != 0u) || ((bits & 0x7fffffffu) > 0x7f800000u);
    return (is_less != 0) ? -(int32_t)size : (int32_t)size;
}

LT_INLINE void quantize(const lt_quantize *p, const lt_step *step, lt_elem type)
{
    const float *in = step->in[0];
    int32_t zero = p->zero;
    float scale = p->scale;
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = nearest(in[i] / scale) + zero;
        lt_put(step->out[0], (int32_t)i, lt_clamp(x, lt_least(type), lt_greatest(type)), type);
    }
}

#if defined(LT_DSP) && defined(__ARM_FP) && ((__ARM_FP & 4) != 0)
#define LT_QUANTIZE_BYTES quantize_bytes

/* `twice` / 2 rounded, halves away from zero, plus `start` / 2, saturated to a type of bytes; `start` is
 * odd. With t = `twice` towards zero, the nearest to t / 2 is (t + 1) / 2 downwards if t is at least 0,
 * and t / 2 downwards if it is below: what is cut off of `twice` never matters. */
LT_INLINE int32_t half_of(float twice, int32_t start, lt_elem type)
{
    int32_t t;
    __asm__("vcvt.s32.f32 %1, %1\n\tvmov %0, %1" : "=r"(t), "+t"(twice)); /* saturates */
    __asm__("ssat %0, #20, %0" : "+r"(t));
    t = (t - (int32_t)((uint32_t)t >> 31)) + start;
    if (type == LT_U8) {
        __asm__("usat %0, #8, %0, asr #1" : "+r"(t));
    } else {
        __asm__("ssat %0, #8, %0, asr #1" : "+r"(t));
    }
    return t;
}

/* `quantize` where it is quicker; rows in which a quotient is infinite or no number take longer. */
LT_INLINE void quantize_bytes(const lt_quantize *p, const lt_step *step, lt_elem type)
{
    const float *in = step->in[0];
    int32_t start = (2 * p->zero) + 1;
    float scale = p->scale, odd = 0.0f;
    for (uint32_t i = 0; i < p->count; i++) {
        float x = in[i] / scale;
        odd += x * 0.0f;
        lt_put(step->out[0], (int32_t)i, half_of(x + x, start, type), type);
    }
    if (odd != 0.0f) { /* not a number */
        quantize(p, step, type);
    }
}
#else
#define LT_QUANTIZE_BYTES quantize
#endif

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
LT_ROW(quantize_s8_row, LT_QUANTIZE_BYTES, LT_S8)
#endif
LT_ROW(quantize_u8_row, LT_QUANTIZE_BYTES, LT_U8)
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
