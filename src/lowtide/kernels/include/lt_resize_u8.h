/* SPDX-License-Identifier: Apache-2.0 */
/* lt_resize_u8.h: RESIZE_BILINEAR, uint8, which the reference computes in single precision.
 *
 * Source: ResizeBilinear in tensorflow/lite/kernels/internal/reference/resize_bilinear.h. Every product and
 * every sum is rounded to a float. Then one half is added, and the fraction is cut off.
 */
#ifndef LT_RESIZE_U8_H
#define LT_RESIZE_U8_H

#include "lowtide.h"

/* One output row.
 *
 * step->in[0], step->in[1]: the upper and the lower row, of pixels of `channels` bytes.
 * step->out[0]: a row of `width` pixels. It must not overlap either. No scratch memory.
 */
typedef struct {
    const uint16_t *left;  /* [width]: the pixel to the left of each output pixel */
    const uint16_t *right; /* [width]: the pixel to its right */
    const float *weight;   /* [width]: the weight of the right pixel; that of the left one is 1 - weight */
    const float *lower;    /* [steps]: the weight of the lower row */
    int32_t width;
    int32_t channels;
    uint8_t in_flip, out_flip; /* 0x80 if the bytes have their sign bits flipped, else 0 */
} lt_resize_bilinear_u8;

void lt_resize_bilinear_u8_row(const void *params, const lt_step *step);

#endif
