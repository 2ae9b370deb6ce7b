/* SPDX-License-Identifier: Apache-2.0 */
/* lt_arg.h: ARG_MAX and ARG_MIN: the index of the greatest or of the least value along a dimension.
 *
 * Source: tensorflow/lite/kernels/internal/reference/arg_min_max.h. Of equal values, the first one counts.
 */
#ifndef LT_ARG_H
#define LT_ARG_H

#include "lowtide.h"

/* An input row is [outer][reduced][inner]; an output row is [outer][inner], int32, or int64 if `wide`. */
typedef struct {
    uint32_t outer, reduced, inner;
    uint32_t rows; /* _eat: how many input rows go into an output row */
    uint8_t wide;
    uint8_t least; /* 1 for ARG_MIN */
} lt_arg;

/* step->in[0]: an input row. step->out[0]: the output row; does not overlap it. No scratch. */
void lt_arg_s8_row(const void *params, const lt_step *step);
void lt_arg_u8_row(const void *params, const lt_step *step);
void lt_arg_s16_row(const void *params, const lt_step *step);
void lt_arg_s32_row(const void *params, const lt_step *step);

/* Along the rows: `reduced` is 1.
 *
 * step->in[0]: the next input row.
 * step->out[0]: the output row if this is the last input row that goes into it, else null.
 * step->scratch: 8 * outer * inner bytes, kept from step to step: the values so far, then where they
 *   are. The first of each `rows` steps sets it up.
 */
void lt_arg_s8_eat(const void *params, const lt_step *step);
void lt_arg_u8_eat(const void *params, const lt_step *step);
void lt_arg_s16_eat(const void *params, const lt_step *step);
void lt_arg_s32_eat(const void *params, const lt_step *step);

#endif
