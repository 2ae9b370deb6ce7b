/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lookup.h: GATHER, GATHER_ND and EMBEDDING_LOOKUP by indices that the network makes; elements of any
 * type.
 *
 * Sources: tensorflow/lite/micro/kernels/gather.cc, gather_nd.cc and embedding_lookup.cc. An index that is
 * out of range, which the reference does not define or rejects, is taken to be the nearest in range.
 */
#ifndef LT_LOOKUP_H
#define LT_LOOKUP_H

#include "lowtide.h"

/* One output row, of `count` pieces of `bytes` bytes.
 *
 * step->in[0]: pieces, as an array of `parts` dimensions. step->in[1]: the indices, int32, of `parts`
 * numbers each, one per dimension; step r uses those from r % steps * count on.
 * step->out[0]: a row that does not overlap them. No scratch.
 */
typedef struct {
    const int32_t *sizes; /* [parts]: how many pieces there are along each dimension, at least 1 */
    int32_t parts;
    int32_t count;
    int32_t bytes;
    int32_t steps; /* at least 1 */
} lt_lookup;

void lt_lookup_row(const void *params, const lt_step *step);

#endif
