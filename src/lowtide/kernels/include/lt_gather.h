/* SPDX-License-Identifier: Apache-2.0 */
/* lt_gather.h: copies pieces of a row, chosen by constant indices; elements of any type.
 *
 * Used for GATHER along an axis within the rows, and for the columns of RESIZE_NEAREST_NEIGHBOR.
 *
 * Source: tensorflow/lite/micro/kernels/gather.cc.
 */
#ifndef LT_GATHER_H
#define LT_GATHER_H

#include "lowtide.h"

/* One output row of runs * count * bytes bytes: `count` pieces of `bytes` bytes from each run.
 *
 * step->in[0]: a row of `runs` runs, `pitch` bytes from one to the next.
 * step->out[0]: a row. It must not overlap the input.
 * Step r uses the indices [(r / steps) * count, (r / steps + 1) * count): each batch has its own list.
 */
typedef struct {
    const uint16_t *index; /* in pieces, from the start of a run */
    int32_t count;
    int32_t runs;
    int32_t pitch;
    int32_t bytes;
    int32_t steps; /* steps that share a list, at least 1 */
} lt_gather;

void lt_gather_row(const void *params, const lt_step *step);

#endif
