/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lookup.h: GATHER, GATHER_ND and EMBEDDING_LOOKUP by indices that the network computes; elements of any
 * type.
 *
 * Sources: tensorflow/lite/micro/kernels/gather.cc, gather_nd.cc and embedding_lookup.cc. If an index is out
 * of range, which the reference leaves undefined or rejects, the kernel takes the nearest index in range.
 */
#ifndef LT_LOOKUP_H
#define LT_LOOKUP_H

#include "lowtide.h"

/* One output row of `count` pieces of `bytes` bytes.
 *
 * step->in[0]: pieces, as an array of `parts` dimensions. step->in[1]: int32 indices of `parts` numbers
 *   each, one per dimension. Step r uses `count` indices, from index r % steps * count on.
 * step->out[0]: a row. It must not overlap the inputs. No scratch memory.
 */
typedef struct {
    const int32_t *sizes; /* [parts]: the number of pieces along each dimension, at least 1 */
    int32_t parts;
    int32_t count;
    int32_t bytes;
    int32_t steps; /* at least 1 */
} lt_lookup;

void lt_lookup_row(const void *params, const lt_step *step);

#endif
