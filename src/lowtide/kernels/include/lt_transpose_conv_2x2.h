/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv_2x2.h: TRANSPOSE_CONV, int16 activations without zero points, int8 weights.
 *
 * A faster form of lt_transpose_conv_s16.h, as lt_conv_2x2.h is of lt_conv_s16.h. Sums always fit 32 bits,
 * even when shifted left by `left`. Output columns that are stride_w apart read the same weights.
 */
#ifndef LT_TRANSPOSE_CONV_2X2_H
#define LT_TRANSPOSE_CONV_2X2_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: `rows` consecutive input rows of in_w * in_c elements, null where they are outside the input. In
 *   step r, the last one is row floor((r + pad_top) / stride_h). `rows` is ceil(kernel_h / stride_h). No
 *   other row reaches the output row.
 * step->out[0]: a row of out_w * out_c elements. It must not overlap an input row. No scratch memory.
 */
typedef struct {
    const int8_t *weights; /* [out_c][kernel_h][kernel_w][ceil(in_c / 4)][4], in the order of lt_conv_2x2.h */
    const int32_t *start;  /* [out_c]: the bias */
    const int32_t *factor; /* [out_c]: for lt_high_s16 */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_h, stride_w;
    uint16_t pad_top, pad_left;
    uint16_t rows;
    int16_t low, high; /* range of the fused activation */
    uint8_t left;      /* left shift of sums before they are scaled, 0 to 15 */
} lt_transpose_conv_2x2_s16;

void lt_transpose_conv_2x2_s16_row(const void *params, const lt_step *step);

#endif
