/* SPDX-License-Identifier: Apache-2.0 */
/* lt_unary.h: functions of one int16 variable.
 *
 * step->in[0], step->out[0]: rows of `count` elements; can be the same memory. No scratch memory.
 */
#ifndef LT_UNARY_H
#define LT_UNARY_H

#include <stddef.h>

#include "lowtide.h"

/* RELU and LEAKY_RELU: two straight lines that meet at the input's zero point.
 *
 * Sources: tensorflow/lite/micro/kernels/activations.h and
 * tensorflow/lite/kernels/internal/reference/leaky_relu.h.
 */
typedef struct {
    uint32_t count;
    int32_t positive_multiplier; /* the factor if input - input_zero >= 0: see lt_fixed.h */
    int32_t negative_multiplier; /* the factor if it is negative */
    int8_t positive_shift, negative_shift;
    uint8_t negate; /* 1 if negative values change their sign before they are scaled */
    int16_t input_zero, output_zero;
} lt_leaky_relu_s16;

void lt_leaky_relu_s16_row(const void *params, const lt_step *step);

/* RELU6: clamps the input to [low, high]. Source: tensorflow/lite/micro/kernels/activations.h. */
typedef struct {
    uint32_t count;
    int16_t low, high;
} lt_clip_s16;

void lt_clip_s16_row(const void *params, const lt_step *step);

/* LOGISTIC and TANH, by interpolation in a table. Zero points are 0. The output is in units of 1 / 32768.
 *
 * Sources: tensorflow/lite/kernels/internal/reference/integer_ops/logistic.h and tanh.h.
 */
typedef struct {
    const uint16_t *table; /* [256]: the logistic function of i / 24, in 1 / 65536 */
    uint32_t count;
    int32_t multiplier; /* input * multiplier / 2^shift is in 1 / (3 * 4096); at most 32767 */
    uint8_t shift;      /* 0 to 31 */
} lt_logistic_s16;

void lt_logistic_s16_row(const void *params, const lt_step *step);
void lt_tanh_s16_row(const void *params, const lt_step *step);

/* Applies one of the two functions above to `count` elements. */
static inline void lt_apply_s16(lt_kernel function, const uint16_t *table, uint32_t count,
                                int32_t multiplier, uint8_t shift, const int16_t *from, int16_t *to)
{
    lt_logistic_s16 params;
    params.table = table;
    params.count = count;
    params.multiplier = multiplier;
    params.shift = shift;
    const void *in = from;
    void *out = to;
    lt_step step = {&in, &out, NULL, 0};
    function(&params, &step);
}

#endif
