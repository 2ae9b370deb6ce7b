/* lt_sums.h: ADD_N and CUMSUM of int8.
 *
 * Sources: tensorflow/lite/kernels/internal/reference/add_n.h and cumsum.h. Sums are in 2^-19 of the
 * inputs' scale, and begin with minus the zero point, as the reference's do.
 */
#ifndef LT_SUMS_H
#define LT_SUMS_H

#include "lowtide.h"

/* ADD_N: step->in are `inputs` rows of `count` bytes, with one scale. step->out[0]: a row; may be the
 * memory of one of them. No scratch. */
typedef struct {
    uint32_t count;
    int32_t multiplier; /* from 2^-19 of the inputs' scale, as in lt_fixed.h */
    int8_t shift;       /* 0 or below */
    uint8_t inputs;     /* at most 15: sums are int32 */
    int16_t zero, output_zero;
} lt_add_n;

void lt_add_n_s8_row(const void *params, const lt_step *step);

/* CUMSUM: step->in[0] is a row of [outer][count][inner] bytes, step->out[0] one of sums along `count`;
 * may be the same memory. Sums wrap. No scratch. */
typedef struct {
    uint32_t outer, count, inner;
    int32_t multiplier;
    int8_t shift;
    uint8_t exclusive; /* an element is not in its own sum */
    uint8_t backwards; /* from the last element on */
    int16_t zero, output_zero;
} lt_cumsum;

void lt_cumsum_s8_row(const void *params, const lt_step *step);

#endif
