/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fixed.h: the fixed-point arithmetic of TFLite's quantised operators.
 *
 * A real factor m is stored as multiplier * 2^(shift - 31), where multiplier is 0 or in [2^30, 2^31).
 * All results are bit for bit those of tensorflow/lite/kernels/internal/common.h in its default build
 * (double rounding).
 */
#ifndef LT_FIXED_H
#define LT_FIXED_H

#include <stdint.h>

/* Defined if Arm's DSP instructions can be used as they are here: in GNU assembly, in Thumb state (cbz), and
 * with words loaded from any address, low byte first. The compiler's __ARM_FEATURE_DSP does not guarantee
 * this: it is also defined with -marm and with -mno-unaligned-access. */
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && defined(__thumb2__) &&         \
    defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#define LT_DSP
#endif

/* Defined for Arm cores without long multiplications (Cortex-M0, M0+, M23). */
#if defined(__thumb__) && !defined(__thumb2__)
#define LT_SHORT
#endif

/* Defined if there are also Arm's integer vectors (Helium, MVE), and a compiler that supports them. */
#if defined(LT_DSP) && defined(__ARM_FEATURE_MVE) && (defined(__clang__) || __GNUC__ >= 12)
#define LT_HELIUM
#endif

/* Defined if there are also vectors of floats. */
#if defined(LT_HELIUM) && (__ARM_FEATURE_MVE & 2)
#define LT_HELIUM_FLOAT
#endif

/* Defined for microcontrollers. There, a program for one core must have the kernels of this core. On other
 * computers, it can also run with the kernels for any core, to try it. */
#if (defined(__arm__) || defined(__ICCARM__) || defined(__riscv) || defined(__XTENSA__)) &&          \
    !defined(__linux__)
#define LT_MICROCONTROLLER
#endif

/* LT_LOOP_AS_IT_IS keeps the compiler from replacing a loop with a call, such as memcpy. LT_APART marks a
 * function that is not inlined: its loops have all registers, and its stack is free when others run. */
#ifdef __GNUC__
#define LT_LOOP_AS_IT_IS(pointer) __asm__ volatile("" : "+r"(pointer))
#define LT_APART __attribute__((noinline))
#else
#define LT_LOOP_AS_IT_IS(pointer) ((void)0)
#define LT_APART
#endif

/* Returns (a * b + 2^31) >> 32, for b >= 0. Cores without a long multiplication make it from halves: the
 * product is ah * bh * 2^32 + (ah * bl + al * bh) * 2^16 + al * bl, and the low half of al * bl never
 * carries. */
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

/* gemmlowp's SaturatingRoundingDoublingHighMul: round(a * b / 2^31), halves up. Only INT32_MIN * INT32_MIN
 * would saturate. It cannot occur: where a can be INT32_MIN, b is a multiplier, which is never negative. */
static inline int32_t lt_high_mul(int32_t a, int32_t b)
{
    return (int32_t)((((int64_t)a * b) + (1 << 30)) >> 31);
}

/* The same, for b >= 0. */
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

/* gemmlowp's RoundingDivideByPOT: round(x / 2^exponent), halves away from zero. The exponent is 0 to 31. */
static inline int32_t lt_divide_by_pot(int32_t x, int32_t exponent)
{
    int32_t mask = (int32_t)((1U << exponent) - 1U);
    int32_t remainder = x & mask;
    int32_t threshold = (mask >> 1) + ((x < 0) ? 1 : 0);
    return (x >> exponent) + ((remainder > threshold) ? 1 : 0);
}

/* MultiplyByQuantizedMultiplier: x * m, rounded twice. As in the reference, the left shift can wrap. */
static inline int32_t lt_scale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = (shift > 0) ? shift : 0;
    int32_t right = (shift > 0) ? 0 : -shift;
    return lt_divide_by_pot(lt_high_by((int32_t)((uint32_t)x << left), multiplier), right);
}

/* MultiplyByQuantizedMultiplier of 64-bit sums, |x| < 2^47: x * m, with 16 bits of the multiplier, rounded
 * once, halves up. The shift is at most 14. For larger sums, the products wrap. */
static inline int32_t lt_scale_wide(int64_t x, int32_t multiplier, int32_t shift)
{
    int64_t reduced = (multiplier < 0x7FFF0000) ? ((multiplier + (1 << 15)) >> 16) : 0x7FFF;
    int32_t right = 15 - shift;
    int64_t scaled = (int64_t)((uint64_t)x * (uint64_t)reduced + ((uint64_t)1 << (right - 1)));
    return (int32_t)(uint32_t)((uint64_t)(scaled >> right));
}

/* Returns x saturated to int16. */
static inline int32_t lt_clamp_s16(int32_t x)
{
#ifdef LT_DSP
    __asm__("ssat %0, #16, %0" : "+r"(x));
    return x;
#else
    return (x < INT16_MIN) ? INT16_MIN : (x > INT16_MAX) ? INT16_MAX : x;
#endif
}

/* Returns round(a * b / 2^32) + c, halves up, saturated to int16. The sum must not overflow. */
static inline int32_t lt_high_s16(int32_t a, int32_t b, int32_t c)
{
#ifdef LT_DSP
    __asm__("smmlar %0, %1, %2, %0" : "+r"(c) : "r"(a), "r"(b));
#else
    c += (int32_t)((((int64_t)a * b) + ((int64_t)1 << 31)) >> 32);
#endif
    return lt_clamp_s16(c);
}

/* Returns x rounded, halves away from zero, and limited to +-1e6: for values that LiteRT scales as double. */
static inline int32_t lt_nearest(double x)
{
    double y = (x < -1e6) ? -1e6 : (x > 1e6) ? 1e6 : x;
    int32_t whole = (int32_t)y;
    double rest = y - whole;
    return (rest >= 0.5) ? (whole + 1) : (rest <= -0.5) ? (whole - 1) : whole;
}

/* Return a + b and a - b. Both wrap. */
static inline int32_t lt_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t lt_sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* Returns lt_scale(x, multiplier, -1 - shift) + zero, without branches, for factors below 1/2. `twice` is
 * 2 * x and `centre` is (2 * zero + 1) << shift.
 *
 * Why it is exact: high_mul(x, m) = (2x * m + 2^31) >> 32. To round halves away from zero, it then adds
 * 2^shift (half of what is shifted out), and subtracts 1 for negative values. The product is negative if x
 * is, except for x = -1 and m = 2^30. There, 0 - 1 also rounds to 0.
 *
 * Preconditions, for every x that can occur (`is_narrow` of lower/packed.py checks them):
 *   -2^30 <= x < 2^30, so that 2x does not overflow; a product can have any number of bits;
 *   0 <= shift <= 22 and -128 <= zero <= 127, so that `centre` does not overflow;
 *   high_mul(x, m) + centre - 1 and + 1 fit int32, so that the sum does not;
 *   0 or 2^30 <= m < 2^31. */
static inline int32_t lt_narrow(int32_t twice, int32_t multiplier, int32_t centre, int32_t shift)
{
    return (lt_high_word(twice, multiplier) + (centre + (twice >> 31))) >> shift >> 1;
}

/* Returns (2 * zero + 1) << shift, for lt_narrow. `odd` is 2 * zero + 1. */
static inline int32_t lt_centre(int32_t odd, int32_t shift)
{
    return (int32_t)((uint32_t)odd << shift);
}

/* Returns lt_scale(x, multiplier, exponent) + zero, without branches, also for factors of 1/2 and more.
 * `shifted` is 2 * x << max(exponent, 0), and `right` is max(-exponent, 0). If `right` is above 0, `away` is
 * -1 and `centre` is (2 * zero + 1) << (right - 1), as in lt_narrow. Otherwise, `away` is 0 and `centre` is
 * `zero`: the result is rounded only once, halves up.
 *
 * Preconditions (`is_broad` of lower/packed.py checks them): if `right` is above 0, those of lt_narrow;
 * otherwise, -2^30 <= x << exponent < 2^30. */
static inline int32_t lt_broad(int32_t shifted, int32_t multiplier, int32_t centre, int32_t away, int32_t right)
{
    return (lt_high_word(shifted, multiplier) + (centre + ((shifted >> 31) & away))) >> right;
}

#ifdef LT_DSP
/* Returns lt_narrow, saturated to int8. */
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

/* Returns the word at any address. */
static inline int32_t lt_load(const void *from)
{
    int32_t word;
    (void)__builtin_memcpy(&word, from, 4);
    return word;
}

/* Return bytes 0 and 2 of x (lt_odd: bytes 1 and 3) as int16 in the halves of a word. */
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

/* Returns sum + the products of the low and of the high halves. It wraps. */
static inline int32_t lt_dual(int32_t a, int32_t b, int32_t sum)
{
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
#endif

/* Returns the sum of n products. It fits 32 bits for up to 256 products. */
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

/* Clamps the bytes up to `end`, if the range is less than all of int8. */
static inline void lt_clamp_row(int8_t *at, const int8_t *end, int32_t low, int32_t high)
{
    if ((low > INT8_MIN) || (high < INT8_MAX)) {
        for (; at != end; at++) {
            *at = (int8_t)lt_clamp(*at, low, high);
        }
    }
}

/* Returns x / 2, halves down, saturated to int8. */
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
