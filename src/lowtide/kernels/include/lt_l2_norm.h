/* SPDX-License-Identifier: Apache-2.0 */
/* lt_l2_norm.h: L2_NORMALIZATION of int8, along the last dimension.
 *
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/l2normalization.h. The output is in units
 * of 1/128, whatever its scale is.
 */
#ifndef LT_L2_NORM_H
#define LT_L2_NORM_H

#include "lowtide.h"

/* step->in[0], step->out[0]: rows of groups * count bytes; each `count` bytes are one vector. They can be
 * the same memory. No scratch memory. */
typedef struct {
    uint32_t groups, count; /* count is at most 33025, because sums of squares are int32 */
    int16_t zero; /* the input's zero point */
} lt_l2_norm;

void lt_l2_norm_s8_row(const void *params, const lt_step *step);

#endif
