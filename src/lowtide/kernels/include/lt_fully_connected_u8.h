/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fully_connected_u8.h: FULLY_CONNECTED, uint8 activations and weights quantised as a whole (the
 * legacy scheme).
 *
 * TFLM has no such operator; LiteRT's reference scales sums as double. So does this, for the same
 * results; what it costs on a core without double arithmetic is small, as there is one product for
 * each output.
 * Source: tensorflow/lite/kernels/internal/reference/fully_connected.h.
 */
#ifndef LT_FULLY_CONNECTED_U8_H
#define LT_FULLY_CONNECTED_U8_H

#include "lowtide.h"

/* One row of outputs.
 *
 * step->in[0]: depth bytes. step->out[0]: out_c bytes; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const uint8_t *weights;       /* [out_c][depth] */
    const int32_t *bias;          /* [out_c] */
    float scale, scale_1, scale_2; /* the factor of the sums is the sum of these three */
    uint16_t depth, out_c;
    uint8_t input_zero, weights_zero, output_zero;
    uint8_t low, high; /* the fused activation's range */
    uint8_t in_flip, out_flip; /* 0x80 if bytes are there with their sign bit flipped, else 0 */
} lt_fully_connected_u8;

void lt_fully_connected_u8_row(const void *params, const lt_step *step);

#endif
