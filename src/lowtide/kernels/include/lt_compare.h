/* SPDX-License-Identifier: Apache-2.0 */
/* lt_compare.h: EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER and GREATER_EQUAL. The output is bytes, 0 or 1.
 *
 * Source: tensorflow/lite/kernels/internal/reference/comparisons.h.
 */
#ifndef LT_COMPARE_H
#define LT_COMPARE_H

#include "lt_pair.h"

/* Relations of a to b. An output is 1 if one of the relations in `when` holds. */
#define LT_LESS 1
#define LT_EQUAL 2
#define LT_GREATER 4

typedef struct {
    lt_pair pair;
    uint8_t when; /* the sum of the relations that give 1 */
} lt_compare;

/* Compare stored values. b8 compares bytes. */
void lt_compare_b8_pair(const void *params, const lt_step *step);
void lt_compare_s32_pair(const void *params, const lt_step *step);
void lt_compare_s64_pair(const void *params, const lt_step *step);

/* Compare quantised values: a is (stored - a_zero) * 256 * its factor (see lt_fixed.h), and so is b. */
typedef struct {
    lt_pair pair;
    int32_t a_multiplier, b_multiplier;
    int8_t a_shift, b_shift; /* 0 or below */
    int16_t a_zero, b_zero;
    uint8_t when;
} lt_compare_scaled;

void lt_compare_s8_pair(const void *params, const lt_step *step);
void lt_compare_u8_pair(const void *params, const lt_step *step);

#endif
