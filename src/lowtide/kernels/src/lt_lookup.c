/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lookup.c: see lt_lookup.h. */
#include "lt_lookup.h"

#include "lt_copy.h"
#include "lt_fixed.h"

LT_SHARED void lt_lookup_row(const void *params, const lt_step *step)
{
    const lt_lookup *p = params;
    const int32_t *index = (const int32_t *)step->in[1] + (step->row % p->steps * p->count * p->parts);
    uint8_t *out = step->out[0];
    for (int32_t i = 0; i < p->count; i++) {
        int32_t at = 0;
        for (int32_t d = 0; d < p->parts; d++) {
            at = (at * p->sizes[d]) + lt_clamp(*index++, 0, p->sizes[d] - 1);
        }
        lt_copy_run(out, (const uint8_t *)step->in[0] + (at * p->bytes), p->bytes);
        out += p->bytes;
    }
}
