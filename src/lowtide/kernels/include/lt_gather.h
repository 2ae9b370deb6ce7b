/* SPDX-License-Identifier: Apache-2.0 */
/* lt_gather.h: picking pieces of a row by constant indices; elements of any type.
 *
 * For GATHER along an axis within the rows, and the columns of RESIZE_NEAREST_NEIGHBOR.
 *
 * Source: tensorflow/lite/micro/kernels/gather.cc.
 */
#ifndef LT_GATHER_H
#define LT_GATHER_H

#include "lowtide.h"

/* One output row, of runs * count * bytes bytes: from each run, `count` pieces of `bytes` bytes.
 *
 * step->in[0]: a row of runs runs, `pitch` bytes from one to the next.
 * step->out[0]: a row that does not overlap it.
 * Step r uses the indices [(r / steps) * count, (r / steps + 1) * count): one list for each batch.
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
