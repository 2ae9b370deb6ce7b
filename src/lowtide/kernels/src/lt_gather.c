/* SPDX-License-Identifier: Apache-2.0 */
/* lt_gather.c: see lt_gather.h. */
#include "lt_gather.h"

#include "lt_copy.h"

LT_SHARED void lt_gather_row(const void *params, const lt_step *step)
{
    const lt_gather *p = params;
    const uint16_t *index = p->index + (step->row / p->steps * p->count);
    const uint8_t *in = step->in[0];
    uint8_t *out = step->out[0];
    for (int32_t i = 0; i < p->runs; i++) {
        for (int32_t k = 0; k < p->count; k++) {
            lt_copy_run(out, in + (i * p->pitch) + (index[k] * p->bytes), p->bytes);
            out += p->bytes;
        }
    }
}
