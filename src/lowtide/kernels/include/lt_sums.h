/* SPDX-License-Identifier: Apache-2.0 */
/* lt_sums.h: ADD_N and CUMSUM of int8.
 *
 * Sources: tensorflow/lite/kernels/internal/reference/add_n.h and cumsum.h. Sums are in 2^-19 of the
 * inputs' scale. As in the reference, they start at minus the zero point.
 */
#ifndef LT_SUMS_H
#define LT_SUMS_H

#include "lowtide.h"

/* ADD_N. step->in: `inputs` rows of `count` bytes, all with one scale. step->out[0]: a row; can be the memory
 * of one of them. No scratch memory. */
typedef struct {
    uint32_t count;
    int32_t multiplier; /* the factor from 2^-19 of the inputs' scale: see lt_fixed.h */
    int8_t shift;       /* 0 or below */
    uint8_t inputs;     /* at most 15, because sums are int32 */
    int16_t zero, output_zero;
} lt_add_n;

void lt_add_n_s8_row(const void *params, const lt_step *step);

/* CUMSUM. step->in[0]: a row of [outer][count][inner] bytes. step->out[0]: their sums along `count`; can be
 * the same memory. Sums wrap. No scratch memory. */
typedef struct {
    uint32_t outer, count, inner;
    int32_t multiplier;
    int8_t shift;
    uint8_t exclusive; /* 1: the sum of an element does not include it */
    uint8_t backwards; /* 1: sums begin at the last element */
    int16_t zero, output_zero;
} lt_cumsum;

void lt_cumsum_s8_row(const void *params, const lt_step *step);

#endif
