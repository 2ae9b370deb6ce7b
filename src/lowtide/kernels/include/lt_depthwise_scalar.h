/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_scalar.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel, for cores without
 * Arm's DSP extension.
 *
 * A faster form of lt_depthwise.h, for programs compiled for such a core. It makes four channels of a pixel
 * at once. lt_scalar.h describes weights, scales and the conditions, which the compiler checks.
 */
#ifndef LT_DEPTHWISE_SCALAR_H
#define LT_DEPTHWISE_SCALAR_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes. It must not overlap an input row. No scratch memory.
 */
typedef struct {
    const int8_t *weights; /* [ceil(channels / 4)][kernel_h][kernel_w][4] */
    const int32_t *scales; /* [ceil(channels / 4)][4][3]: see lt_scalar.h */
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* range of the fused activation */
} lt_depthwise_scalar_s8;

void lt_depthwise_scalar_s8_row(const void *params, const lt_step *step);

#endif
