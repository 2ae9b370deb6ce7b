/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9.h: CONV_2D and DEPTHWISE_CONV_2D, int8, some channels of which are made anew.
 *
 * Another kernel makes all channels; these have weights of nine bits (of uint8, less a zero point), or
 * factors that it is not for.
 * Source: tensorflow/lite/kernels/internal/reference/conv.h and depthwiseconv_uint8.h, with 128 less of
 * every byte and every zero point.
 */
#ifndef LT_W9_H
#define LT_W9_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes; overlaps no input row.
 * step->scratch: what `run` needs.
 */
typedef struct {
    lt_kernel run;      /* makes all channels of the row */
    const void *params; /* of that kernel */
    /* [count][kernel_h][kernel_w * in_c], the second and third of each whole four the other way round;
     * with filters: [count][kernel_h][kernel_w] */
    const int16_t *weights;
    const int32_t *bias;      /* [count], modulo 2^32, with the input's zero point folded in */
    const uint16_t *channels; /* [count]: which of the output's they are */
    const int32_t *multiplier; /* [count] */
    const int8_t *shift;       /* [count] */
    uint16_t count;
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t filters; /* depthwise: outputs per input channel; else 0 */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* the fused activation's range */
    uint8_t narrow;   /* the conditions of lt_narrow (lt_fixed.h) are met */
    uint8_t flip;     /* not depthwise: 0x80 if input bytes' sign bits are to be flipped, else 0 */
} lt_w9_s8;

void lt_w9_s8_row(const void *params, const lt_step *step);

/* The channels of a depthwise convolution where there is Helium, and of one without dilation along the row where
 * there are Helium or DSP instructions: four at once. */
void lt_w9_depthwise(const lt_w9_s8 *p, const lt_step *step);
void lt_w9_conv(const lt_w9_s8 *p, const lt_step *step);

#endif
