/* SPDX-License-Identifier: Apache-2.0 */
/* lt_binary.h: functions of two variables: ADD, SUB, MUL, MINIMUM, MAXIMUM, PRELU, LOGICAL_AND, LOGICAL_OR.
 *
 * Sources, in tensorflow/lite/kernels/internal/reference: integer_ops/add.h, add.h, sub.h,
 * integer_ops/mul.h, maximum_minimum.h, prelu.h.
 */
#ifndef LT_BINARY_H
#define LT_BINARY_H

#include "lowtide.h"
#include "lt_pair.h"

/* ADD and SUB. The operand with the greater scale is a, because an exact shift rescales it. Twice the sum,
 * in units of 2^-L of a's scale (L is 20, or 15 for int16), is
 *
 *     start + a * a_factor
 *     + b_factor * round(high_mul(b * 2^(L + 1) + b_start, b_multiplier) / 2^b_shift)
 *
 * where high_mul is the product / 2^32, rounded, and `round` takes halves away from zero. The result is
 * round(high_mul(sum, multiplier) / 2^shift) + output_zero.
 */
typedef struct {
    lt_pair pair;
    int32_t start;    /* -(zero point of a) * a_factor */
    int32_t b_start;  /* -(zero point of b) * 2^(L + 1) */
    int32_t a_factor; /* 2^L, or -2^L to subtract a */
    int32_t b_multiplier, multiplier;
    uint8_t b_shift, shift; /* 1 to 31 */
    int8_t b_factor;        /* 2, or -2 to subtract b */
    int16_t output_zero;
    int16_t low, high; /* the fused activation's range */
} lt_addition;

/* ADD only, of two rows of pair.inner elements each: pair.outer, pair.a_step and pair.b_step are 1. */
void lt_add_s8_row(const void *params, const lt_step *step);
void lt_add_u8_row(const void *params, const lt_step *step);
void lt_add_s16_row(const void *params, const lt_step *step); /* the zero points of a and b are 0 */

/* ADD and SUB, with any broadcast that `pair` describes (lt_pair.h). */
void lt_add_s8_pair(const void *params, const lt_step *step);
void lt_add_u8_pair(const void *params, const lt_step *step);
void lt_add_s16_pair(const void *params, const lt_step *step);

/* MUL: (a - a_zero) * (b - b_zero) * factor + output_zero. */
typedef struct {
    lt_pair pair;
    int32_t multiplier; /* the factor: see lt_fixed.h */
    int8_t shift;
    int16_t a_zero, b_zero, output_zero;
    int16_t low, high; /* the fused activation's range */
} lt_mul;

void lt_mul_s8_pair(const void *params, const lt_step *step);
void lt_mul_u8_pair(const void *params, const lt_step *step);
void lt_mul_s16_pair(const void *params, const lt_step *step);

/* PRELU of a with the slope b: a - a_zero, times the positive factor, if that is >= 0; otherwise
 * (a - a_zero) * (b - b_zero), times the negative factor. Adds output_zero and saturates the result. */
typedef struct {
    lt_pair pair;
    int32_t positive_multiplier, negative_multiplier;
    int8_t positive_shift, negative_shift;
    int16_t a_zero, b_zero, output_zero;
} lt_prelu;

void lt_prelu_s8_pair(const void *params, const lt_step *step);
void lt_prelu_u8_pair(const void *params, const lt_step *step);
void lt_prelu_s16_pair(const void *params, const lt_step *step); /* b is int8 */

/* MINIMUM and MAXIMUM of stored values. LOGICAL_AND and LOGICAL_OR are the minimum and the maximum of bytes
 * that are 0 or 1. The params are an lt_pair. */
void lt_min_s8_pair(const void *params, const lt_step *step);
void lt_min_u8_pair(const void *params, const lt_step *step);
void lt_min_s16_pair(const void *params, const lt_step *step);
void lt_max_s8_pair(const void *params, const lt_step *step);
void lt_max_u8_pair(const void *params, const lt_step *step);
void lt_max_s16_pair(const void *params, const lt_step *step);

#endif
