/* SPDX-License-Identifier: Apache-2.0 */
/* lt_add_narrow.h: ADD of int8 rows, for cores with Arm's DSP extension.
 *
 * A quicker form of lt_add_s8_row (lt_binary.h), for programs that are made for such a core. The
 * compiler has checked that no sum overflows; the result of twice the sum is that of lt_narrow.
 */
#ifndef LT_ADD_NARROW_H
#define LT_ADD_NARROW_H

#include "lowtide.h"

/* The order of the fields is known to the assembly. Twice the sum of a and b is
 *
 *     start + a * 2^20 + 2 * round(high_mul(b * 2^21 + b_start, b_multiplier) / 2^b_shift)
 *
 * as in lt_binary.h; the result is lt_narrow(sum, multiplier, centre, shift), saturated.
 */
typedef struct {
    int32_t start, b_start;
    int32_t b_half; /* 2^(b_shift - 1) */
    int32_t b_multiplier;
    int32_t b_shift; /* 1 to 31 */
    int32_t centre;  /* (2 * (the output's zero point) + 1) << shift */
    int32_t multiplier;
    int32_t shift; /* 0 to 22 */
    uint32_t count;   /* elements of a row */
    int8_t low, high; /* the fused activation's range */
} lt_add_narrow_s8;

/* step->in[0], step->in[1]: rows of a and b. step->out[0]: the output row; may be the memory of either.
 * No scratch. */
void lt_add_narrow_s8_row(const void *params, const lt_step *step);

/* `count` >= 1 sums, without the activation: the part that is in assembly where there is a DSP
 * extension. */
void lt_add_narrow_sums(const lt_add_narrow_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);

#endif
