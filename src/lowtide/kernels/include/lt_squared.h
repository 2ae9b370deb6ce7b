/* SPDX-License-Identifier: Apache-2.0 */
/* lt_squared.h: SQUARED_DIFFERENCE of int8 and int16.
 *
 * Source: tensorflow/lite/micro/kernels/squared_difference.cc.
 */
#ifndef LT_SQUARED_H
#define LT_SQUARED_H

#include "lt_pair.h"

/* Rescales both operands to twice the greater scale, times 2^left. Squares and scales their difference, and
 * adds output_zero. lt_fixed.h describes all factors. */
typedef struct {
    lt_pair pair;
    int32_t a_multiplier, b_multiplier, multiplier;
    int8_t a_shift, b_shift, shift; /* those of a and b are 0 or below */
    int16_t a_zero, b_zero, output_zero;
} lt_squared;

void lt_squared_difference_s8_pair(const void *params, const lt_step *step);  /* left is 7 */
void lt_squared_difference_s16_pair(const void *params, const lt_step *step); /* left is 0 */

#endif
