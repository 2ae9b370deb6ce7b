/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h: fixed-point arithmetic as tensorflow/lite/kernels/internal/common.h and gemmlowp define it,
 * written anew from these definitions, to hold the helpers against. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "contracts.h"

/* SaturatingRoundingDoublingHighMul: a division, which rounds towards zero, of a nudged product. */
static inline int32_t doubled_high(int32_t a, int32_t b)
{
    int64_t product = (int64_t)a * b;
    int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
    return (int32_t)((product + nudge) / ((int64_t)1 << 31));
}

/* RoundingDivideByPOT: half of the divisor is added to the magnitude. */
static inline int32_t away_from_zero(int32_t x, int32_t exponent)
{
    int64_t magnitude = x < 0 ? -(int64_t)x : x;
    int64_t rounded = (magnitude + (((int64_t)1 << exponent) >> 1)) >> exponent;
    return (int32_t)(x < 0 ? -rounded : rounded);
}

/* MultiplyByQuantizedMultiplier, whose left shift wraps. */
static inline int32_t scaled(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    int32_t shifted = (int32_t)((uint32_t)x * (1U << left));
    return away_from_zero(doubled_high(shifted, multiplier), right);
}

#endif
