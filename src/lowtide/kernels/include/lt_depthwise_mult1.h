/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_mult1.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel.
 *
 * The quick form of lt_depthwise.h, for the operators that meet the conditions of lt_narrow (see
 * lt_fixed.h), which the compiler checks for each channel with the actual weights. (With one input
 * channel a depthwise convolution is an ordinary one: lt_conv_packed.h.)
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h.
 */
#ifndef LT_DEPTHWISE_MULT1_H
#define LT_DEPTHWISE_MULT1_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes; overlaps no input row.
 * step->scratch: 8 * kernel_h * kernel_w bytes, aligned to 4, with the DSP extension; in plain C none.
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
    int8_t low, high; /* the fused activation's range */
} lt_depthwise_mult1_s8;

void lt_depthwise_mult1_s8_row(const void *params, const lt_step *step);

/* The same without scratch memory, and without Arm's DSP extension: more instructions where there is
 * one. */
void lt_depthwise_mult1_s8_plain(const void *params, const lt_step *step);

/* As lt_depthwise_mult1_s8_row, for any factors: shifts are as in lt_fixed.h, biases once. */
void lt_depthwise_mult1_s8_any(const void *params, const lt_step *step);

#endif
