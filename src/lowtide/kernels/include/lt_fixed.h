/* lt_fixed.h: the fixed-point arithmetic of TFLite's quantised operators.
 *
 * A real factor m is stored as multiplier * 2^(shift - 31), multiplier in [2^30, 2^31) or 0.
 * All results are bit for bit those of tensorflow/lite/kernels/internal/common.h, in its default
 * build (double rounding).
 */
#ifndef LT_FIXED_H
#define LT_FIXED_H

#include <stdint.h>

/* gemmlowp's SaturatingRoundingDoublingHighMul: round(a * b / 2^31), halves up. The one product that
 * saturates, INT32_MIN * INT32_MIN, cannot occur: b is a multiplier, which is never negative. */
static inline int32_t lt_high_mul(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* gemmlowp's RoundingDivideByPOT: round(x / 2^exponent), halves away from zero; exponent 0 to 31. */
static inline int32_t lt_divide_by_pot(int32_t x, int32_t exponent)
{
    int32_t mask = (int32_t)((1U << exponent) - 1U);
    int32_t remainder = x & mask;
    int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

/* MultiplyByQuantizedMultiplier: x * m, rounded twice. Overflow of the left shift wraps, as there. */
static inline int32_t lt_scale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0;
    int32_t right = shift > 0 ? 0 : -shift;
    return lt_divide_by_pot(lt_high_mul((int32_t)((uint32_t)x << left), multiplier), right);
}

static inline int32_t lt_clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

#endif
