/* SPDX-License-Identifier: Apache-2.0 */
/* lt_int32.h: ADD, SUB, MUL, DIV, FLOOR_DIV, FLOOR_MOD, SQUARED_DIFFERENCE, MINIMUM and MAXIMUM of int32,
 * which have no scale, and MINIMUM and MAXIMUM of int64.
 *
 * Sources, in tensorflow/lite/kernels/internal/reference: add.h, sub.h, mul.h, div.h, floor_div.h,
 * floor_mod.h, maximum_minimum.h. Sums and products wrap.
 */
#ifndef LT_INT32_H
#define LT_INT32_H

#include "lt_pair.h"

typedef struct {
    lt_pair pair;
    int32_t low, high; /* range of the fused activation */
} lt_int32;

void lt_add_s32_pair(const void *params, const lt_step *step);
void lt_sub_s32_pair(const void *params, const lt_step *step);
void lt_mul_s32_pair(const void *params, const lt_step *step);
void lt_squared_difference_s32_pair(const void *params, const lt_step *step);

/* a / b, rounded towards zero. If b is 0, for which the reference defines no result, the result is 0. */
void lt_div_s32_pair(const void *params, const lt_step *step);

/* a / b, rounded towards minus infinity, and its remainder, which has the sign of b. If b is 0, for which the
 * reference stops with an error, both results are 0. The params are an lt_pair. */
void lt_floor_div_s32_pair(const void *params, const lt_step *step);
void lt_floor_mod_s32_pair(const void *params, const lt_step *step);

/* The params are an lt_pair. */
void lt_min_s32_pair(const void *params, const lt_step *step);
void lt_max_s32_pair(const void *params, const lt_step *step);
void lt_min_s64_pair(const void *params, const lt_step *step);
void lt_max_s64_pair(const void *params, const lt_step *step);

#endif
