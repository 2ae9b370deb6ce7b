/* SPDX-License-Identifier: Apache-2.0 */
/* lt_scalar.h: what the fast kernels for cores without Arm's DSP extension share: lt_conv_scalar.h,
 * lt_depthwise_scalar.h.
 *
 * Weights are bytes, in groups of four channels, c0 to c3 (zeros if missing), so that one instruction loads
 * each with its sign. Scales are three words for each channel: the bias, with the input's zero point folded
 * in, where the sum starts; the multiplier; and the shift, 0 to 22. The factor is
 * multiplier * 2^(-32 - shift). 2 * (the sum) must fit int32: see lt_narrow in lt_fixed.h.
 */
#ifndef LT_SCALAR_H
#define LT_SCALAR_H

#include "lt_fixed.h"

/* At these points, sums are in registers, and nothing that is needed later is loaded. Otherwise, compilers
 * reorder additions and load ahead until they run out of registers. Arm cores have few registers, and end
 * each product with LT_NOW. Other cores have many, and wait for results: they end some products of four
 * channels with LT_THEN. */
#if defined(__GNUC__) && defined(LT_SHORT) /* most instructions reach only eight registers */
#define LT_NOW(sum) __asm__ volatile("" : "+l"(sum) : : "memory")
#elif defined(__GNUC__) && defined(__arm__)
#define LT_NOW(sum) __asm__ volatile("" : "+r"(sum) : : "memory")
#else
#define LT_NOW(sum) ((void)0)
#endif
#if defined(__GNUC__) && !defined(__arm__)
#define LT_THEN(a, b, c, d) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : : "memory")
#else
#define LT_THEN(a, b, c, d) ((void)0)
#endif

/* Defines the sums of four channels, with the values at which they start. */
#define LT_START(scales, a, b, c, d)     \
    uint32_t a = (uint32_t)(scales)[0];  \
    uint32_t b = (uint32_t)(scales)[3];  \
    uint32_t c = (uint32_t)(scales)[6];  \
    uint32_t d = (uint32_t)(scales)[9]

/* Returns the result of a channel, saturated to int8. `odd` is 2 * zero + 1. */
static inline int8_t lt_scalar_scaled(uint32_t sum, const int32_t *scale, int32_t odd)
{
    int32_t shift = scale[2];
    int32_t twice = (int32_t)(sum + sum);
    int32_t high = lt_high_word(twice, scale[1]) + (lt_centre(odd, shift) + ((int32_t)sum >> 31));
    return lt_half_s8(high >> shift);
}

/* The same for any factor that meets the conditions of lt_broad. From 1/2 on, the shift is below 0. */
static inline int8_t lt_scalar_any(uint32_t sum, const int32_t *scale, int32_t odd)
{
    if (scale[2] >= 0) {
        return lt_scalar_scaled(sum, scale, odd);
    }
    int32_t y = lt_high_word((int32_t)(sum << -scale[2]), scale[1]) + (odd >> 1);
    return (int8_t)lt_clamp(y, INT8_MIN, INT8_MAX);
}

#endif
