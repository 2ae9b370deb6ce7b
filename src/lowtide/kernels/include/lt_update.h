/* SPDX-License-Identifier: Apache-2.0 */
/* lt_update.h: DYNAMIC_UPDATE_SLICE, a tensor with a box of it replaced; elements of any type.
 *
 * Source: tensorflow/lite/micro/kernels/dynamic_update_slice.cc.
 */
#ifndef LT_UPDATE_H
#define LT_UPDATE_H

#include "lowtide.h"

#define LT_UPDATE_RANK 6

/* One output row, `row` bytes.
 *
 * step->in[0]: the same row of what is updated.
 * step->in[1]: the whole box.
 * step->in[2]: its first index along each dimension, int64 if `wide`, else int32; where the box would
 *   reach beyond the tensor, it is moved back.
 * step->out[0]: overlaps none of them.
 */
typedef struct {
    const int32_t *shape; /* [rank] of the tensor */
    const int32_t *box;   /* [rank]; nowhere more than that, nor 0 */
    int32_t row;
    uint8_t rank;
    uint8_t leading; /* dimensions that number the rows, less than rank */
    uint8_t wide;
    uint8_t bytes; /* of an element */
} lt_update;

void lt_update_row(const void *params, const lt_step *step);

#endif
