/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fixed.h: the fixed-point arithmetic of TFLite's quantised operators.
 *
 * A real factor m is stored as multiplier * 2^(shift - 31), multiplier in [2^30, 2^31) or 0.
 * All results are bit for bit those of tensorflow/lite/kernels/internal/common.h, in its default
 * build (double rounding).
 */
#ifndef LT_FIXED_H
#define LT_FIXED_H

#include <stdint.h>

/* Defined where Arm's DSP instructions may be used as they are here: in GNU assembly, in Thumb state
 * (cbz), and with words loaded from any address, low byte first. The compiler's __ARM_FEATURE_DSP does
 * not say so: it also holds with -marm and with -mno-unaligned-access. */
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && defined(__thumb2__) &&         \
    defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#define LT_DSP
#endif

/* Defined for Arm's cores without long multiplications (Cortex-M0, M0+, M23). */
#if defined(__thumb__) && !defined(__thumb2__)
#define LT_SHORT
#endif

/* Defined where there are Arm's vectors of integers (Helium, MVE), too, and a compiler that knows them. */
#if defined(LT_DSP) && defined(__ARM_FEATURE_MVE) && (defined(__clang__) || __GNUC__ >= 12)
#define LT_HELIUM
#endif

/* The same with vectors of floats. */
#if defined(LT_HELIUM) && (__ARM_FEATURE_MVE & 2)
#define LT_HELIUM_FLOAT
#endif

/* Defined for cores that are no computer's: there a program for one core must have its kernels, and elsewhere
 * it may be tried out with those for any. */
#if (defined(__arm__) || defined(__ICCARM__) || defined(__riscv) || defined(__XTENSA__)) &&          \
    !defined(__linux__)
#define LT_MICROCONTROLLER
#endif

/* A loop that no compiler replaces by a call, memcpy say; and a function that is apart: its loops have all
 * registers, and what it keeps on the stack is gone when others run. */
#ifdef __GNUC__
#define LT_LOOP_AS_IT_IS(pointer) __asm__ volatile("" : "+r"(pointer))
#define LT_APART __attribute__((noinline))
#else
#define LT_LOOP_AS_IT_IS(pointer) ((void)0)
#define LT_APART
#endif

/* (a * b + 2^31) >> 32 for 0 <= b. Cores without a long multiplication make it of halves: the product is
 * ah * bh * 2^32 + (ah * bl + al * bh) * 2^16 + al * bl, and the low half of al * bl carries into
 * nothing. */
static inline int32_t lt_high_word(int32_t a, int32_t b)
{
#ifdef LT_SHORT
    int32_t ah = a >> 16, bh = b >> 16;
    uint32_t al = (uint32_t)a & 0xFFFFU, bl = (uint32_t)b & 0xFFFFU;
    int32_t middle = (ah * (int32_t)bl) + (int32_t)((al * bl) >> 16);
    uint32_t low = ((uint32_t)middle & 0xFFFFU) + (al * (uint32_t)bh) + (1U << 15);
    return (ah * bh) + (middle >> 16) + (int32_t)(low >> 16);
#elif defined(LT_DSP)
    return (int32_t)((((int64_t)a * b) + ((int64_t)1 << 31)) >> 32);
#else
    int64_t product = (int64_t)a * b;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#endif
}

/* gemmlowp's SaturatingRoundingDoublingHighMul: round(a * b / 2^31), halves up. The one product that
 * saturates, INT32_MIN * INT32_MIN, cannot occur: where a may be that, b is a multiplier, never negative. */
static inline int32_t lt_high_mul(int32_t a, int32_t b)
{
    return (int32_t)((((int64_t)a * b) + (1 << 30)) >> 31);
}

/* The same for 0 <= b. */
static inline int32_t lt_high_by(int32_t a, int32_t b)
{
#ifdef LT_SHORT /* as above, one bit further down */
    int32_t ah = a >> 16, bh = b >> 16;
    uint32_t al = (uint32_t)a & 0xFFFFU, bl = (uint32_t)b & 0xFFFFU;
    int32_t middle = (ah * (int32_t)bl) + (int32_t)((al * bl) >> 16);
    uint32_t low = ((uint32_t)middle & 0x7FFFU) + (al * (uint32_t)bh) + (1U << 14);
    return (ah * bh * 2) + (middle >> 15) + (int32_t)(low >> 15);
#else
    return lt_high_mul(a, b);
#endif
}

/* gemmlowp's RoundingDivideByPOT: round(x / 2^exponent), halves away from zero; exponent 0 to 31. */
static inline int32_t lt_divide_by_pot(int32_t x, int32_t exponent)
{
    int32_t mask = (int32_t)((1U << exponent) - 1U);
    int32_t remainder = x & mask;
    int32_t threshold = (mask >> 1) + ((x < 0) ? 1 : 0);
    return (x >> exponent) + ((remainder > threshold) ? 1 : 0);
}

/* MultiplyByQuantizedMultiplier: x * m, rounded twice. Overflow of the left shift wraps, as there. */
static inline int32_t lt_scale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = (shift > 0) ? shift : 0;
    int32_t right = (shift > 0) ? 0 : -shift;
    return lt_divide_by_pot(lt_high_by((int32_t)((uint32_t)x << left), multiplier), right);
}

/* MultiplyByQuantizedMultiplier of 64-bit sums, |x| < 2^47: x * m, with 16 bits of the multiplier,
 * rounded once, halves up. The shift is at most 14. Products of larger sums wrap. */
static inline int32_t lt_scale_wide(int64_t x, int32_t multiplier, int32_t shift)
{
    int64_t reduced = (multiplier < 0x7FFF0000) ? ((multiplier + (1 << 15)) >> 16) : 0x7FFF;
    int32_t right = 15 - shift;
    int64_t scaled = (int64_t)((uint64_t)x * (uint64_t)reduced + ((uint64_t)1 << (right - 1)));
    return (int32_t)(uint32_t)((uint64_t)(scaled >> right));
}

/* Saturated to int16. */
static inline int32_t lt_clamp_s16(int32_t x)
{
#ifdef LT_DSP
    __asm__("ssat %0, #16, %0" : "+r"(x));
    return x;
#else
    return (x < INT16_MIN) ? INT16_MIN : (x > INT16_MAX) ? INT16_MAX : x;
#endif
}

/* round(a * b / 2^32) + c, halves up, saturated to int16; the sum must not overflow. */
static inline int32_t lt_high_s16(int32_t a, int32_t b, int32_t c)
{
#ifdef LT_DSP
    __asm__("smmlar %0, %1, %2, %0" : "+r"(c) : "r"(a), "r"(b));
#else
    c += (int32_t)((((int64_t)a * b) + ((int64_t)1 << 31)) >> 32);
#endif
    return lt_clamp_s16(c);
}

/* x rounded, halves away from zero, and limited to a million: for what LiteRT scales as double. */
static inline int32_t lt_nearest(double x)
{
    double y = (x < -1e6) ? -1e6 : (x > 1e6) ? 1e6 : x;
    int32_t whole = (int32_t)y;
    double rest = y - whole;
    return (rest >= 0.5) ? (whole + 1) : (rest <= -0.5) ? (whole - 1) : whole;
}

/* a + b and a - b, wrapping. */
static inline int32_t lt_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t lt_sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* lt_scale(x, multiplier, -1 - shift) + zero, without branches: for factors below 1/2, `twice` 2 * x and
 * `centre` (2 * zero + 1) << shift.
 *
 * Why it is exact: high_mul(x, m) = (2x * m + 2^31) >> 32. Rounding halves away from zero then adds
 * 2^shift (half of what is shifted out), less 1 for negative values; the product is negative when x is, but
 * for x = -1 and m = 2^30, where 0 - 1 rounds to 0 all the same.
 *
 * What it needs, for every x that there may be (`is_narrow` of lower/packed.py checks it):
 *   -2^30 <= x < 2^30, so that 2x does not overflow; no bound on how many bits a product has besides;
 *   0 <= shift <= 22 and -128 <= zero <= 127, so that `centre` does not overflow;
 *   high_mul(x, m) + centre - 1 and + 1 fit int32, so that the sum does not;
 *   0 or 2^30 <= m < 2^31. */
static inline int32_t lt_narrow(int32_t twice, int32_t multiplier, int32_t centre, int32_t shift)
{
    return (lt_high_word(twice, multiplier) + (centre + (twice >> 31))) >> shift >> 1;
}

/* (2 * zero + 1) << shift, for lt_narrow. */
static inline int32_t lt_centre(int32_t odd, int32_t shift)
{
    return (int32_t)((uint32_t)odd << shift);
}

/* lt_scale(x, multiplier, exponent) + zero, without branches, for factors of 1/2 and more, too: `shifted` is
 * 2 * x << max(exponent, 0), and `right` max(-exponent, 0). Where that is above 0, `away` is -1 and `centre`
 * (2 * zero + 1) << (right - 1), as in lt_narrow. Else `away` is 0 and `centre` is `zero`: what is rounded once
 * is rounded halves up.
 *
 * What it needs (`is_broad` of lower/packed.py checks it): with `right` above 0 what lt_narrow does; else
 * -2^30 <= x << exponent < 2^30. */
static inline int32_t lt_broad(int32_t shifted, int32_t multiplier, int32_t centre, int32_t away, int32_t right)
{
    return (lt_high_word(shifted, multiplier) + (centre + ((shifted >> 31) & away))) >> right;
}

#ifdef LT_DSP
/* lt_narrow, saturated to int8. */
static inline int32_t lt_narrow_s8(int32_t twice, int32_t multiplier, int32_t centre, int32_t shift)
{
    int32_t sum;
    __asm__("smmlar %0, %1, %2, %3"
            : "=r"(sum)
            : "r"(twice), "r"(multiplier), "r"(centre + (twice >> 31)));
    sum >>= shift;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(sum) : "r"(sum));
    return sum;
}

/* Four bytes from any address. */
static inline int32_t lt_load(const void *from)
{
    int32_t word;
    (void)__builtin_memcpy(&word, from, 4);
    return word;
}

/* Bytes 0 and 2 of x (1 and 3 of lt_odd) as int16 in the halves of a word. */
static inline int32_t lt_even(int32_t x)
{
    int32_t pair;
    __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(x));
    return pair;
}

static inline int32_t lt_odd(int32_t x)
{
    int32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(x));
    return pair;
}

/* sum + the products of the low and of the high halves, wrapping. */
static inline int32_t lt_dual(int32_t a, int32_t b, int32_t sum)
{
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
#endif

/* The sum of n products. Up to 256 of them fit 32 bits. */
static inline int64_t lt_dot_s16(const int16_t *a, const int8_t *b, int32_t n)
{
    int64_t total = 0;
    while (n > 0) {
        int32_t run = (n < 256) ? n : 256, sum = 0;
        for (int32_t i = 0; i < run; i++) {
            sum += *a++ * *b++;
        }
        total += sum;
        n -= run;
    }
    return total;
}

static inline int32_t lt_clamp(int32_t x, int32_t low, int32_t high)
{
    return (x < low) ? low : (x > high) ? high : x;
}

/* Limit the bytes up to `end`, if the range is less than all of int8. */
static inline void lt_clamp_row(int8_t *at, const int8_t *end, int32_t low, int32_t high)
{
    if ((low > INT8_MIN) || (high < INT8_MAX)) {
        for (; at != end; at++) {
            *at = (int8_t)lt_clamp(*at, low, high);
        }
    }
}

/* x / 2, halves down, saturated to int8. */
static inline int8_t lt_half_s8(int32_t x)
{
#if defined(__thumb2__) && defined(__GNUC__)
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(x) : "r"(x));
    return (int8_t)x;
#else
    x >>= 1;
    return (int8_t)((((uint32_t)x + 128U) > 255U) ? ((x >> 31) ^ 127) : x); /* seldom: one comparison */
#endif
}

#endif
