/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_mult1.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel.
 *
 * The fast form of lt_depthwise.h, for operators that meet the conditions of lt_narrow (lt_fixed.h). The
 * compiler checks these for each channel, with the actual weights. (With one input channel, a depthwise
 * convolution is an ordinary convolution: see lt_conv_packed.h.)
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h.
 */
#ifndef LT_DEPTHWISE_MULT1_H
#define LT_DEPTHWISE_MULT1_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes. It must not overlap an input row.
 * step->scratch: with the DSP extension, 8 * kernel_h * kernel_w bytes, aligned to 4; in plain C, none.
 */
typedef struct {
    const int8_t *weights;     /* [kernel_h][kernel_w][channels] */
    const int32_t *bias;       /* [channels], times 2 */
    const int32_t *multiplier; /* [channels] */
    const int8_t *shift;       /* [channels], 0 to 22: factor = multiplier * 2^(-32 - shift) */
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* range of the fused activation */
} lt_depthwise_mult1_s8;

void lt_depthwise_mult1_s8_row(const void *params, const lt_step *step);

/* Like lt_depthwise_mult1_s8_row, without scratch memory and without DSP instructions. On cores that have
 * them, it takes more instructions. */
void lt_depthwise_mult1_s8_plain(const void *params, const lt_step *step);

/* Like lt_depthwise_mult1_s8_row, for any factors: shifts are as in lt_fixed.h, and biases not times 2. */
void lt_depthwise_mult1_s8_any(const void *params, const lt_step *step);

#endif
