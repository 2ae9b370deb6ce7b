/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fully_connected_u8.h: FULLY_CONNECTED, uint8 activations, uint8 weights quantised per tensor (the
 * legacy scheme).
 *
 * TFLM has no such operator. LiteRT's reference scales sums as double. So does this kernel, for the same
 * results. On a core without double arithmetic, this costs little, because there is one such product per
 * output.
 * Source: tensorflow/lite/kernels/internal/reference/fully_connected.h.
 */
#ifndef LT_FULLY_CONNECTED_U8_H
#define LT_FULLY_CONNECTED_U8_H

#include "lowtide.h"

/* One row of outputs.
 *
 * step->in[0]: `depth` bytes. step->out[0]: out_c bytes. They must not overlap the input.
 * step->scratch: not used.
 */
typedef struct {
    const uint8_t *weights;       /* [out_c][depth] */
    const int32_t *bias;          /* [out_c] */
    float scale, scale_1, scale_2; /* the factor of the sums is the sum of these three */
    uint16_t depth, out_c;
    uint8_t input_zero, weights_zero, output_zero;
    uint8_t low, high; /* range of the fused activation */
    uint8_t in_flip, out_flip; /* 0x80 if the bytes have their sign bits flipped, else 0 */
} lt_fully_connected_u8;

void lt_fully_connected_u8_row(const void *params, const lt_step *step);

#endif
