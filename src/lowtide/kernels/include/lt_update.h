/* SPDX-License-Identifier: Apache-2.0 */
/* lt_update.h: DYNAMIC_UPDATE_SLICE: a copy of a tensor with one box replaced; elements of any type.
 *
 * Source: tensorflow/lite/micro/kernels/dynamic_update_slice.cc.
 */
#ifndef LT_UPDATE_H
#define LT_UPDATE_H

#include "lowtide.h"

#define LT_UPDATE_RANK 6

/* One output row of `row` bytes.
 *
 * step->in[0]: the same row of the tensor to update.
 * step->in[1]: the whole box.
 * step->in[2]: the first index of the box along each dimension, int64 if `wide`, else int32. If the box would
 *   reach beyond the tensor, the kernel moves it back.
 * step->out[0]: the output row. It must not overlap an input.
 */
typedef struct {
    const int32_t *shape; /* [rank]: the shape of the tensor */
    const int32_t *box;   /* [rank]: the shape of the box; 1 to shape along each dimension */
    int32_t row;
    uint8_t rank;
    uint8_t leading; /* number of dimensions that number the rows, less than rank */
    uint8_t wide;
    uint8_t bytes; /* of an element */
} lt_update;

void lt_update_row(const void *params, const lt_step *step);

#endif
