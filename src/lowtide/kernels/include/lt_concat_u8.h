/* SPDX-License-Identifier: Apache-2.0 */
/* lt_concat_u8.h: CONCATENATION of uint8 rows whose scales differ (a legacy of uint8 models).
 *
 * Source: ConcatenationWithScaling in tensorflow/lite/kernels/internal/reference/concatenation.h.
 * The reference computes a function of one byte, in float, for each element. Here, the compiler makes a
 * table of this function.
 */
#ifndef LT_CONCAT_U8_H
#define LT_CONCAT_U8_H

#include "lowtide.h"

/* Like lt_concat_row (lt_move.h). step->in: `count` rows; row i has runs * bytes[i] bytes. step->out[0]: for
 * each run, its bytes of every row in turn. It must not overlap an input row. No scratch memory.
 */
typedef struct {
    const int32_t *bytes;  /* [count]: bytes of a run of each row */
    const uint8_t *tables; /* [...][256]: the output for each input value */
    const uint8_t *table;  /* [count]: the index in `tables` of the table for each row */
    int32_t runs;
    int32_t count;
} lt_concat_u8;

void lt_concat_u8_row(const void *params, const lt_step *step);

#endif
