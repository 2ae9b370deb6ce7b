/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16.h: DEPTHWISE_CONV_2D, int16 activations, int8 weights, 64-bit biases.
 *
 * Zero points count as 0 in the reference. Sums are scaled in one of two ways, `shift` null or not: see
 * lt_conv_2x2.h.
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h.
 */
#ifndef LT_DEPTHWISE_S16_H
#define LT_DEPTHWISE_S16_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * in_c * filters int16; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const int8_t *weights;     /* [kernel_h][kernel_w][in_c * filters] */
    const int64_t *bias;       /* [in_c * filters], or null, and then ... */
    const int32_t *start;      /* [in_c * filters] */
    const int32_t *factor;     /* [in_c * filters]; the multipliers if shift is not null */
    const int8_t *shift;       /* [in_c * filters], at most 14; or null */
    uint16_t in_w, in_c;
    uint16_t out_w;
    uint16_t filters; /* output channels per input channel */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t low, high; /* the fused activation's range */
} lt_depthwise_s16;

void lt_depthwise_s16_row(const void *params, const lt_step *step);

/* The part of it that has another form where there is a DSP extension: the sums of products of channels c
 * to c + 3, with filters == 1, at the window that begins in column `first`, of whose columns `from` to
 * `to` are none of padding. They fit 32 bits: the window has at most 508 pixels. */
void lt_depthwise_s16_four(const lt_depthwise_s16 *p, const void *const *rows, int32_t first,
                           int32_t from, int32_t to, int32_t c, int32_t *sums);

#endif
