/* SPDX-License-Identifier: Apache-2.0 */
/* lt_scalar.h: what the quick kernels for cores without Arm's DSP extension share: lt_conv_scalar.h,
 * lt_depthwise_scalar.h.
 *
 * Their weights are bytes in fours of channels, c0 to c3 (missing ones are zeros), so that each is loaded
 * with its sign by one instruction. Scales are three words for a channel: the bias, with the input's
 * zero point folded in, where its sum starts, multiplier, and shift, 0 to 22: the factor is
 * multiplier * 2^(-32 - shift), and 2 * (the sum) fits int32, see lt_narrow in lt_fixed.h.
 */
#ifndef LT_SCALAR_H
#define LT_SCALAR_H

#include "lt_fixed.h"

/* Sums are in registers here, and nothing is loaded yet that is needed later: compilers add in another
 * order, and load ahead, until they run out of registers. Arm's cores have few, and end a product with
 * LT_NOW. Others have many, and results to wait for: they end some products of four channels with
 * LT_THEN. */
#if defined(__GNUC__) && defined(LT_SHORT) /* most instructions reach eight of the registers */
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

/* Where the sums of four channels start. */
#define LT_START(scales, a, b, c, d)     \
    uint32_t a = (uint32_t)(scales)[0];  \
    uint32_t b = (uint32_t)(scales)[3];  \
    uint32_t c = (uint32_t)(scales)[6];  \
    uint32_t d = (uint32_t)(scales)[9]

/* The result of a channel, saturated to int8; `odd` is 2 * zero + 1. */
static inline int8_t lt_scalar_scaled(uint32_t sum, const int32_t *scale, int32_t odd)
{
    int32_t shift = scale[2];
    int32_t twice = (int32_t)(sum + sum);
    int32_t high = lt_high_word(twice, scale[1]) + (lt_centre(odd, shift) + ((int32_t)sum >> 31));
    return lt_half_s8(high >> shift);
}

/* The same of any factor, which meets the conditions of lt_broad: of 1/2 and more the shift is below 0. */
static inline int8_t lt_scalar_any(uint32_t sum, const int32_t *scale, int32_t odd)
{
    if (scale[2] >= 0) {
        return lt_scalar_scaled(sum, scale, odd);
    }
    int32_t y = lt_high_word((int32_t)(sum << -scale[2]), scale[1]) + (odd >> 1);
    return (int8_t)lt_clamp(y, INT8_MIN, INT8_MAX);
}

#endif
