/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16.h: DEPTHWISE_CONV_2D, int16 activations, int8 weights, 64-bit biases.
 *
 * In the reference, zero points count as 0. If `shift` is null, sums are scaled as in lt_conv_2x2.h with
 * `left` 0. Otherwise, they are scaled by lt_scale_wide.
 * Source: tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h.
 */
#ifndef LT_DEPTHWISE_S16_H
#define LT_DEPTHWISE_S16_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * in_c * filters int16. It must not overlap an input row.
 * step->scratch: not used.
 */
typedef struct {
    const int8_t *weights;     /* [kernel_h][kernel_w][in_c * filters] */
    const int64_t *bias;       /* [in_c * filters]: used if shift is not null */
    const int32_t *start;      /* [in_c * filters]: the bias, used if shift is null */
    const int32_t *factor;     /* [in_c * filters]; the multipliers if shift is not null */
    const int8_t *shift;       /* [in_c * filters], at most 14; or null */
    uint16_t in_w, in_c;
    uint16_t out_w;
    uint16_t filters; /* output channels per input channel */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t low, high; /* range of the fused activation */
} lt_depthwise_s16;

void lt_depthwise_s16_row(const void *params, const lt_step *step);

/* The part of the kernel that has another form for cores with the DSP extension. It makes the sums of
 * products of channels c to c + 3, with filters == 1, for the window that begins in column `first`. Its
 * columns `from` to `to` - 1 are not padding. Sums fit 32 bits: the window has at most 508 pixels. */
void lt_depthwise_s16_four(const lt_depthwise_s16 *p, const void *const *rows, int32_t first,
                           int32_t from, int32_t to, int32_t c, int32_t *sums);

#endif
