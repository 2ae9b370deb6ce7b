/* SPDX-License-Identifier: Apache-2.0 */
/* lt_concat_u8.h: CONCATENATION of uint8 rows whose scales differ (a legacy of uint8 models).
 *
 * Source: ConcatenationWithScaling in tensorflow/lite/kernels/internal/reference/concatenation.h.
 * What that computes in float for each element is a function of one byte: a table, made by the
 * compiler.
 */
#ifndef LT_CONCAT_U8_H
#define LT_CONCAT_U8_H

#include "lowtide.h"

/* As lt_concat_row (lt_move.h): step->in are `count` rows, row i of runs * bytes[i] bytes, and
 * step->out[0] holds for each run its bytes of every row. No scratch; the output overlaps no input.
 */
typedef struct {
    const int32_t *bytes;  /* [count] */
    const uint8_t *tables; /* [...][256]: the output for each input value */
    const uint8_t *table;  /* [count]: which table row i goes through */
    int32_t runs;
    int32_t count;
} lt_concat_u8;

void lt_concat_u8_row(const void *params, const lt_step *step);

#endif
