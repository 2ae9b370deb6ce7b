/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fully_connected_once.h: FULLY_CONNECTED, int8 weights, with results that are rounded once.
 *
 * LiteRT's reference scales the sums of dense layers as double. TFLM rounds twice in fixed point (lt_conv.h,
 * lt_conv_s16.h). These kernels give LiteRT's results.
 * Source: tensorflow/lite/kernels/fully_connected.cc.
 */
#ifndef LT_FULLY_CONNECTED_ONCE_H
#define LT_FULLY_CONNECTED_ONCE_H

#include "lowtide.h"

/* One row of outputs.
 *
 * step->in[0]: `depth` activations, int8 or int16 as in the kernel's name. step->out[0]: out_c elements of
 *   the same type. They must not overlap the input.
 * step->scratch: not used.
 */
typedef struct {
    const int8_t *weights; /* [out_c][depth] */
    const int64_t *bias;   /* [out_c], with the input's zero point folded in */
    const float *scale;    /* [out_c][3]: the factor of a channel is the sum of these three */
    uint16_t depth, out_c;
    int16_t output_zero;
    int16_t low, high; /* range of the fused activation */
    uint8_t narrow;    /* 1: sums have 32 bits, and wrap; 0: they have 64 */
} lt_fully_connected_once;

void lt_fully_connected_once_s8_row(const void *params, const lt_step *step);
void lt_fully_connected_once_s16_row(const void *params, const lt_step *step);

#endif
