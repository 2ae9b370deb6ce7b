/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose.c: see lt_transpose.h. */
#include "lt_transpose.h"

#include <stddef.h>
#include <string.h>

LT_SHARED void lt_transpose_row(const void *params, const lt_step *step)
{
    const lt_transpose *p = params;
    const uint8_t *in = (const uint8_t *)step->in[0] + p->from;
    uint8_t *out = step->out[0];
    if (p->pitches != NULL) {
        int32_t row = step->row;
        in += row % p->rows2 * p->pitches[2];
        row /= p->rows2;
        in += (row % p->rows1 * p->pitches[1]) + (row / p->rows1 * p->pitches[0]);
    }
    for (int32_t i = 0; i < p->count0; i++) {
        const uint8_t *run = in + (i * p->pitch0);
        if (p->bytes == 1) {
            for (int32_t j = 0; j < p->count1; j++) {
                *out++ = run[j * p->pitch1];
            }
            continue;
        }
        for (int32_t j = 0; j < p->count1; j++) {
            (void)memcpy(out, run + (j * p->pitch1), (size_t)p->bytes);
            out += p->bytes;
        }
    }
}
