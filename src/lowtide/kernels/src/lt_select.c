/* SPDX-License-Identifier: Apache-2.0 */
/* lt_select.c: see lt_select.h. */
#include "lt_select.h"

#include <string.h>

LT_SHARED void lt_select_row(const void *params, const lt_step *step)
{
    const lt_select *p = params;
    const uint8_t *condition = step->in[0];
    const uint8_t *a = step->in[1];
    const uint8_t *b = step->in[2];
    uint8_t *out = step->out[0];
    for (uint32_t o = 0; o < p->outer; o++) {
        for (uint32_t i = 0; i < p->inner; i++) {
            (void)memmove(out, (*condition != 0) ? a : b, p->size);
            out += p->size;
            condition += p->c_step;
            a += p->a_step * p->size;
            b += p->b_step * p->size;
        }
        condition += p->c_next;
        a += p->a_next * p->size;
        b += p->b_next * p->size;
    }
}
