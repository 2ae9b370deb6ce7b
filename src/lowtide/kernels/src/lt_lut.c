/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lut.c: see lt_lut.h. */
#include "lt_lut.h"

LT_SHARED void lt_lut_8_row(const void *params, const lt_step *step)
{
    const lt_lut *p = params;
    const uint8_t *table = p->table;
    const uint8_t *in = step->in[0];
    const uint8_t *end = in + p->count;
    uint8_t *out = step->out[0];
    while (in != end) {
        *out++ = table[*in++];
    }
}
