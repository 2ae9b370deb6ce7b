/* SPDX-License-Identifier: Apache-2.0 */
/* lt_resize.h: RESIZE_BILINEAR, int8. (RESIZE_NEAREST_NEIGHBOR uses lt_gather.h.)
 *
 * Source: ResizeBilinearInteger in tensorflow/lite/kernels/internal/reference/resize_bilinear.h. Positions
 * are in 1/1024 of a pixel, products of both weights in 1/2^20. Results are rounded, half away from zero.
 */
#ifndef LT_RESIZE_H
#define LT_RESIZE_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: two rows of pixels of `channels` bytes, the upper and the lower one. If the weight of the lower
 *   row is 0, it is not read and can be null. The same applies to the pixel to the right.
 * step->out[0]: a row of `width` pixels. It must not overlap either. No scratch memory.
 */
typedef struct {
    const uint16_t *left;   /* [width]: the pixel to the left of each output pixel */
    const uint16_t *weight; /* [width]: the weight of the pixel to its right, 0 to 1023 */
    const uint16_t *lower;  /* [steps]: the weight of the lower row, 0 to 1023 */
    int32_t width;
    int32_t channels;
} lt_resize_bilinear_s8;

void lt_resize_bilinear_s8_row(const void *params, const lt_step *step);

#endif
