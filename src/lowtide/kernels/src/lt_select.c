/* lt_select.c: see lt_select.h. */
#include "lt_select.h"

#include <string.h>

void lt_select_row(const void *params, const lt_step *step)
{
    const lt_select *p = params;
    int32_t at[3] = {0, 0, 0};
    uint8_t *out = step->out[0];
    for (uint32_t o = 0; o < p->outer; o++) {
        for (uint32_t i = 0; i < p->inner; i++) {
            int k = ((const uint8_t *)step->in[0])[at[0]] != 0 ? 1 : 2;
            const uint8_t *from = (const uint8_t *)step->in[k] + at[k] * p->size;
            memmove(out, from, p->size);
            out += p->size;
            for (k = 0; k < 3; k++) {
                at[k] += p->step[k];
            }
        }
        for (int k = 0; k < 3; k++) {
            at[k] += p->next[k];
        }
    }
}
