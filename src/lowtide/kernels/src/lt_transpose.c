/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose.c: see lt_transpose.h. */
#include "lt_transpose.h"

#include <stddef.h>

#include "lt_copy.h"

LT_SHARED void lt_transpose_row(const void *params, const lt_step *step)
{
    const lt_transpose *p = params;
    const uint8_t *in = (const uint8_t *)step->in[0] + p->from;
    uint8_t *out = step->out[0];
    if (p->pitches != NULL) {
        int32_t row = step->row;
        if (row >= p->rows2) { /* often it is less, and division is slow where it is not an instruction */
            int32_t a = row / p->rows2;
            row -= a * p->rows2;
            in += (a % p->rows1 * p->pitches[1]) + (a / p->rows1 * p->pitches[0]);
        }
        in += row * p->pitches[2];
    }
    for (int32_t i = 0; i < p->count0; i++) {
        lt_copy_runs(out, p->bytes, in + (i * p->pitch0), p->pitch1, p->bytes, p->count1);
        out += p->count1 * p->bytes;
    }
}
