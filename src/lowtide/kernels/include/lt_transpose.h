/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose.h: TRANSPOSE, and other copies with a stride per dimension; elements of any type.
 *
 * Source: tensorflow/lite/kernels/internal/reference/transpose.h.
 */
#ifndef LT_TRANSPOSE_H
#define LT_TRANSPOSE_H

#include "lowtide.h"

/* One output row of count0 * count1 runs of `bytes` bytes, one after the other.
 *
 * step->in[0]: the input. Run (i, j) is read from start + i * pitch0 + j * pitch1, in bytes. If `pitches` is
 *   null, start is `from` in every step. Otherwise, start is from + a * pitches[0] + b * pitches[1] +
 *   c * pitches[2] in step r = (a * rows1 + b) * rows2 + c.
 * step->out[0]: a row. It must not overlap the input. No scratch memory.
 */
typedef struct {
    const int32_t *pitches; /* [3], or null */
    int32_t rows1, rows2;   /* not used if `pitches` is null, else at least 1 */
    int32_t from;
    int32_t count0, pitch0;
    int32_t count1, pitch1;
    int32_t bytes;
} lt_transpose;

void lt_transpose_row(const void *params, const lt_step *step);

#endif
