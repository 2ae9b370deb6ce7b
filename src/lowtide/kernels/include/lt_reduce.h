/* lt_reduce.h: MEAN, SUM, REDUCE_MAX and REDUCE_MIN for int8, uint8 and int16; REDUCE_ALL and
 * REDUCE_ANY are the least and the greatest of bytes that are 0 or 1.
 *
 * Source: tensorflow/lite/kernels/internal/reference/reduce.h (QuantizedMeanOrSum, ReduceGeneric).
 */
#ifndef LT_REDUCE_H
#define LT_REDUCE_H

#include "lowtide.h"

/* An input row is [outer][reduced][inner]; an output row is [outer][inner], joined over `reduced` and
 * over the rows eaten.
 *
 * step->in[0]: the next input row.
 * step->out[0]: the output row if this is the last input row that goes into it, else null; may be the
 *   input's memory.
 * step->scratch: 4 * outer * inner bytes, kept from step to step; step 0 sets it up.
 */
typedef struct {
    uint32_t outer, reduced, inner;
    /* For sums: what a total starts at (minus the input's zero point for every element), and the
     * factor to output units, 1 / number of elements included in a mean. Unused by max and min. */
    int32_t start;
    int32_t multiplier; /* >= 0; may be below 2^30 */
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
