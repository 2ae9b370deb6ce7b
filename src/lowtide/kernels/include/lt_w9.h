/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9.h: CONV_2D and DEPTHWISE_CONV_2D, int8: makes some channels again, after another kernel.
 *
 * The other kernel makes all channels. Those made again have nine-bit weights (of uint8, minus a zero point),
 * or factors that the other kernel does not support.
 * Source: tensorflow/lite/kernels/internal/reference/conv.h and depthwiseconv_uint8.h, with 128 subtracted
 * from every byte and every zero point.
 */
#ifndef LT_W9_H
#define LT_W9_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: what `run` needs.
 */
typedef struct {
    lt_kernel run;      /* makes all channels of the row; not called if count == out_c */
    const void *params; /* the params of that kernel */
    /* [count][kernel_h][kernel_w * in_c], where the second and third of each whole group of four are swapped.
     * With filters: [count][kernel_h][kernel_w]. */
    const int16_t *weights;
    const int32_t *bias;      /* [count], modulo 2^32, with the input's zero point folded in */
    const uint16_t *channels; /* [count]: the numbers of the channels in the output */
    const int32_t *multiplier; /* [count] */
    const int8_t *shift;       /* [count] */
    uint16_t count;
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t filters; /* depthwise: output channels per input channel; else 0 */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t narrow;   /* 1 if the conditions of lt_narrow (lt_fixed.h) are met */
    uint8_t flip;     /* not depthwise: 0x80 to flip the sign bits of input bytes, else 0 */
} lt_w9_s8;

void lt_w9_s8_row(const void *params, const lt_step *step);

/* Make four channels at once: lt_w9_depthwise those of DEPTHWISE_CONV_2D, with Helium; lt_w9_conv those of a
 * CONV_2D without dilation along the row, with Helium or DSP instructions. */
void lt_w9_depthwise(const lt_w9_s8 *p, const lt_step *step);
void lt_w9_conv(const lt_w9_s8 *p, const lt_step *step);

#endif
