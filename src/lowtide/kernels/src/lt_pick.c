/* SPDX-License-Identifier: Apache-2.0 */
/* lt_pick.c: see lt_pick.h. */
#include "lt_pick.h"

#include <stddef.h>
#include "lt_copy.h"

LT_SHARED void lt_pick_row(const void *params, const lt_step *step)
{
    const lt_pick *p = params;
    int32_t first = (p->lists == NULL) ? 0 : (p->lists[step->row] * p->count);
    uint8_t *out = step->out[0];
    for (int32_t i = first; i < (first + p->count); i++) {
        const uint8_t *from = p->value;
        if (p->pieces[i] != LT_NONE) {
            from = step->in[(p->rows == NULL) ? 0 : p->rows[i]];
            from += p->pieces[i] * p->bytes;
        }
        lt_copy_piece(out, from, p->bytes);
        out += p->bytes;
    }
}
