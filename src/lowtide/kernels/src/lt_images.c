/* SPDX-License-Identifier: Apache-2.0 */
/* lt_images.c: see lt_images.h. */
#include "lt_images.h"

#include <stddef.h>

LT_SHARED void lt_images_row(const void *params, const lt_step *step)
{
    const lt_images *p = params;
    void **rows = (void **)(uintptr_t)step->in; /* the instance's own, filled anew for each step */
    lt_step own = *step;
    own.row = (uint16_t)(step->row % p->steps);
    int32_t row = p->first[own.row];
    for (uint16_t i = 0; i < p->count; i++, row += p->dilation) {
        if ((row < 0) || (row >= p->rows)) {
            rows[i] = NULL;
        }
    }
    p->run(p->params, &own);
}
