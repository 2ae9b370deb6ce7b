/* SPDX-License-Identifier: Apache-2.0 */
/* lt_move.c: see lt_move.h. */
#include "lt_move.h"

#include <stddef.h>
#include <string.h>

#include "lt_copy.h"

LT_SHARED void lt_copy_row(const void *params, const lt_step *step)
{
    const lt_copy *p = params;
    const uint8_t *in = (const uint8_t *)step->in[0] + p->from;
    uint8_t *out = step->out[0];
    if (in == out) {
        return;
    }
    for (int32_t i = 0; i < p->runs; i++) {
        lt_copy_piece(out, in + (i * p->pitch), p->bytes);
        out += p->bytes;
    }
}

/* lt_copy_runs, once for both kernels: it has more to keep in registers than a single run needs. */
static LT_APART void copy_runs(uint8_t *to, int32_t stride, const uint8_t *from, int32_t pitch, int32_t n,
                               int32_t runs)
{
    lt_copy_runs(to, stride, from, pitch, n, runs);
}

/* The bytes of a run of each part. */
static int32_t run_of_all(const lt_join *p)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < p->count; k++) {
        sum += p->bytes[k];
    }
    return sum;
}

/* Parts are copied one by one, all runs of each: so the elements of a plane are a plain loop. */
LT_SHARED void lt_concat_row(const void *params, const lt_step *step)
{
    const lt_join *p = params;
    const int32_t pitch = (p->runs == 1) ? 0 : run_of_all(p);
    uint8_t *out = step->out[0];
    for (int32_t k = 0; k < p->count; k++) {
        int32_t n = p->bytes[k];
        if (pitch == 0) {
            lt_copy_piece(out, step->in[k], n);
        } else {
            copy_runs(out, pitch, step->in[k], n, n, p->runs);
        }
        out += n;
    }
}

LT_SHARED void lt_split_row(const void *params, const lt_step *step)
{
    const lt_join *p = params;
    const int32_t pitch = (p->runs == 1) ? 0 : run_of_all(p);
    const uint8_t *in = step->in[0];
    for (int32_t k = 0; k < p->count; k++) {
        int32_t n = p->bytes[k];
        if (pitch == 0) {
            lt_copy_piece(step->out[k], in, n);
        } else {
            copy_runs(step->out[k], n, in, pitch, n, p->runs);
        }
        in += n;
    }
}

/* Write n bytes of padding; return where they end. */
static uint8_t *fill(const lt_pad *p, uint8_t *out, int32_t n)
{
    if (p->size == 1) {
        (void)memset(out, p->value[0], (size_t)n);
    } else {
        for (int32_t i = 0; i < n; i += p->size) {
            (void)memcpy(out + i, p->value, (size_t)p->size);
        }
    }
    return out + n;
}

LT_SHARED void lt_pad_row(const void *params, const lt_step *step)
{
    const lt_pad *p = params;
    const uint8_t *in = step->in[0];
    uint8_t *out = fill(p, step->out[0], p->before);
    for (int32_t i = 0; i < p->runs; i++) {
        if (in == NULL) {
            out = fill(p, out, p->bytes);
        } else {
            lt_copy_run(out, in + (i * p->bytes), p->bytes);
            out += p->bytes;
        }
        out = fill(p, out, ((i + 1) < p->runs) ? p->between : p->after);
    }
}
