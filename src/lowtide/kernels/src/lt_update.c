/* SPDX-License-Identifier: Apache-2.0 */
/* lt_update.c: see lt_update.h. */
#include "lt_update.h"

#include <string.h>

/* The first index of the box along dimension d. */
static int32_t start(const lt_update *p, const void *indices, int32_t d)
{
    int64_t at = p->wide ? ((const int64_t *)indices)[d] : ((const int32_t *)indices)[d];
    int32_t most = p->shape[d] - p->box[d];
    return (at < 0) ? 0 : (at > most) ? most : (int32_t)at;
}

LT_SHARED void lt_update_row(const void *params, const lt_step *step)
{
    const lt_update *p = params;
    const uint8_t *box = step->in[1];
    uint8_t *out = step->out[0];
    (void)memcpy(out, step->in[0], (size_t)p->row);
    int32_t row = step->row, at = 0, pitch = 1; /* of the box, in rows */
    for (int32_t d = p->leading - 1; d >= 0; d--) {
        int32_t index = (row % p->shape[d]) - start(p, step->in[2], d);
        row /= p->shape[d];
        if ((index < 0) || (index >= p->box[d])) {
            return;
        }
        at += index * pitch;
        pitch *= p->box[d];
    }
    /* A run is along the last dimension; the others within the row number the runs. */
    int32_t last = p->rank - 1, runs = 1;
    int32_t run = p->bytes * p->box[last];
    for (int32_t d = p->leading; d < last; d++) {
        runs *= p->box[d];
    }
    box += at * runs * run;
    for (int32_t i = 0; i < runs; i++) {
        int32_t rest = i, to = start(p, step->in[2], last);
        pitch = p->shape[last];
        for (int32_t d = last - 1; d >= p->leading; d--) {
            to += (start(p, step->in[2], d) + (rest % p->box[d])) * pitch;
            rest /= p->box[d];
            pitch *= p->shape[d];
        }
        (void)memcpy(out + (to * p->bytes), box + (i * run), (size_t)run);
    }
}
