/* SPDX-License-Identifier: Apache-2.0 */
/* lt_add_narrow.h: ADD of int8 rows, for cores with Arm's DSP extension.
 *
 * A faster form of lt_add_s8_row (lt_binary.h), for programs compiled for such a core. The compiler checks
 * that no sum overflows. lt_narrow (lt_fixed.h) scales twice the sum to the result.
 */
#ifndef LT_ADD_NARROW_H
#define LT_ADD_NARROW_H

#include "lowtide.h"

/* The assembly relies on the order of the fields. Twice the sum of a and b is
 *
 *     start + a * 2^20 + 2 * round(high_mul(b * 2^21 + b_start, b_multiplier) / 2^b_shift)
 *
 * as in lt_binary.h. The result is lt_narrow(sum, multiplier, centre, shift), saturated to int8.
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
    int8_t low, high; /* range of the fused activation */
} lt_add_narrow_s8;

/* step->in[0], step->in[1]: rows of a and b. step->out[0]: the output row; can be the memory of a or of b.
 * No scratch memory. */
void lt_add_narrow_s8_row(const void *params, const lt_step *step);

/* Make `count` >= 1 sums, without the fused activation. For cores with the DSP extension, this part is in
 * assembly. */
void lt_add_narrow_sums(const lt_add_narrow_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);

#endif
