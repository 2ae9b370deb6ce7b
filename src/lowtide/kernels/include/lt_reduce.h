/* SPDX-License-Identifier: Apache-2.0 */
/* lt_reduce.h: MEAN, SUM, REDUCE_MAX and REDUCE_MIN for int8, uint8 and int16. REDUCE_ALL and REDUCE_ANY are
 * the minimum and the maximum of bytes that are 0 or 1.
 *
 * Source: tensorflow/lite/kernels/internal/reference/reduce.h (QuantizedMeanOrSum, ReduceGeneric).
 */
#ifndef LT_REDUCE_H
#define LT_REDUCE_H

#include "lowtide.h"

/* An input row is [outer][reduced][inner]. An output row is [outer][inner]: it joins all elements along
 * `reduced` and all rows of the input that go into it.
 *
 * step->in[0]: the next input row.
 * step->out[0]: the output row if this is the last input row that goes into it, else null. It can be the
 *   memory of the input.
 * step->scratch: 4 * outer * inner bytes, which must last from step to step. Step 0 initialises them.
 */
typedef struct {
    uint32_t outer, reduced, inner;
    /* For sums only: the start of a total (minus the input's zero point for every element), and the factor
     * to output units. For a mean, it includes 1 / number of elements. */
    int32_t start;
    int32_t multiplier; /* >= 0; can be below 2^30 */
    int16_t shift;
    int16_t output_zero;
} lt_reduce;

void lt_sum_s8_eat(const void *params, const lt_step *step);
void lt_sum_u8_eat(const void *params, const lt_step *step);
void lt_sum_s16_eat(const void *params, const lt_step *step);
void lt_reduce_max_s8_eat(const void *params, const lt_step *step);
void lt_reduce_max_u8_eat(const void *params, const lt_step *step);
void lt_reduce_max_s16_eat(const void *params, const lt_step *step);
void lt_reduce_min_s8_eat(const void *params, const lt_step *step);
void lt_reduce_min_u8_eat(const void *params, const lt_step *step);
void lt_reduce_min_s16_eat(const void *params, const lt_step *step);

#endif
