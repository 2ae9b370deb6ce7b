/* lt_compare.h: EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER and GREATER_EQUAL; the output is bytes 0, 1.
 *
 * Source: tensorflow/lite/kernels/internal/reference/comparisons.h.
 */
#ifndef LT_COMPARE_H
#define LT_COMPARE_H

#include "lt_pair.h"

/* Which of these hold gives 1. */
#define LT_LESS 1
#define LT_EQUAL 2
#define LT_GREATER 4

typedef struct {
    lt_pair pair;
    uint8_t when; /* LT_LESS, LT_EQUAL and LT_GREATER, added up */
} lt_compare;

/* Stored values; b8 are bytes. */
void lt_compare_b8_pair(const void *params, const lt_step *step);
void lt_compare_s32_pair(const void *params, const lt_step *step);
void lt_compare_s64_pair(const void *params, const lt_step *step);

/* Quantised values: a is (stored - a_zero) * 256 * its factor, as in lt_fixed.h; so is b. */
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
