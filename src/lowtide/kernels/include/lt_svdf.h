/* SPDX-License-Identifier: Apache-2.0 */
/* lt_svdf.h: SVDF, int8 activations and weights, with a state of int8 or int16.
 *
 * Source: EvalIntegerSvdfReference in tensorflow/lite/micro/kernels/svdf_common.cc. There, each stage runs
 * over all filters in turn. Here, each unit goes through all stages, which needs no scratch memory.
 */
#ifndef LT_SVDF_H
#define LT_SVDF_H

#include "lowtide.h"

/* One batch.
 *
 * step->in[0]: a row of `inputs` bytes.
 * step->out[0]: a row of `units` bytes. It must not overlap another row.
 * step->out[1]: the state, read and written: [units * rank][memory], oldest first.
 * No scratch memory.
 */
typedef struct {
    const int8_t *features; /* [units * rank][inputs] */
    const int32_t *start;   /* [units * rank], with the input's zero point folded in */
    const void *times;      /* [units * rank][memory], of the state's type */
    const int32_t *bias;    /* [units], with the state's zero point folded in */
    uint16_t inputs, units, rank, memory;
    int32_t state_multiplier, output_multiplier;
    int8_t state_shift, output_shift;
    int8_t output_zero;
    int16_t state_zero;
} lt_svdf;

void lt_svdf_state8_row(const void *params, const lt_step *step);
void lt_svdf_state16_row(const void *params, const lt_step *step);

/* The part of the kernel that has another form for cores with the DSP extension. It moves the n - 1 >= 0
 * newest values of a filter's state down, puts `newest` after them, and returns sum + all n times `times`. */
int32_t lt_svdf_move(int8_t *state, const int8_t *times, int32_t n, int32_t newest, int32_t sum);

#endif
