/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fully_connected_once.h: FULLY_CONNECTED, int8 weights, with sums that are rounded once.
 *
 * LiteRT's reference scales the sums of dense layers as double, where TFLM rounds twice in fixed point
 * (lt_conv.h, lt_conv_s16.h). So does this, for LiteRT's results.
 * Source: tensorflow/lite/kernels/fully_connected.cc.
 */
#ifndef LT_FULLY_CONNECTED_ONCE_H
#define LT_FULLY_CONNECTED_ONCE_H

#include "lowtide.h"

/* One row of outputs.
 *
 * step->in[0]: depth activations, int8 or int16 by the kernel's name. step->out[0]: out_c of the same
 *   type; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const int8_t *weights; /* [out_c][depth] */
    const int64_t *bias;   /* [out_c], the input's zero point folded in */
    const float *scale;    /* [out_c][3]: the factor of a channel's sums is the sum of these three */
    uint16_t depth, out_c;
    int16_t output_zero;
    int16_t low, high; /* the fused activation's range */
    uint8_t narrow;    /* sums have 32 bits, and wrap; else 64 */
} lt_fully_connected_once;

void lt_fully_connected_once_s8_row(const void *params, const lt_step *step);
void lt_fully_connected_once_s16_row(const void *params, const lt_step *step);

#endif
