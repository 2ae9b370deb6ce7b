/* SPDX-License-Identifier: Apache-2.0 */
/* lt_joined.c: see lt_joined.h. */
#include "lt_joined.h"

#include <stddef.h>

/* Pixels `from` and on of a concatenation, whose rows are `apart` pointers from each other. */
static void join(const lt_join *parts, int32_t from, int32_t pixels, const lt_step *step, int32_t apart)
{
    const void *rows[LT_JOINED_PARTS];
    lt_join some = {parts->bytes, pixels, parts->count};
    lt_step own = {rows, step->out, NULL, 0};
    for (int32_t k = 0; k < parts->count; k++) {
        rows[k] = (const int8_t *)step->in[k * apart] + (from * parts->bytes[k]);
    }
    lt_concat_row(&some, &own);
}

LT_SHARED void lt_joined_row(const void *params, const lt_step *step)
{
    const lt_joined *p = params;
    const void *pixels = step->scratch;
    void *joined = step->scratch, *out = step->out[0];
    lt_step joining = {step->in, &joined, NULL, 0};
    lt_step inner = {&pixels, &out, (int8_t *)step->scratch + ((p->piece * p->in_c + 3) & ~3), 0};
    for (int32_t x = 0, n; x < p->out_w; x += n) {
        n = (p->out_w - x < p->piece) ? (p->out_w - x) : p->piece;
        join(p->join, x, n, &joining, 1);
#ifdef LT_TRACE
        lt_trace_inner(1, step->row * p->out_w + x, joined, n * p->in_c);
#endif
        p->run((n == p->piece) ? p->params : p->last, &inner);
        out = (int8_t *)out + (n * p->out_c);
    }
}

static void expand(const lt_block *b, int32_t from, int32_t columns, const lt_step *step)
{
    join(b->more, from, columns, step, b->kernel_h);
}

LT_SHARED void lt_joined_block_row(const void *params, const lt_step *step)
{
    const lt_joined_block *p = params;
    lt_block of = p->of(p->params);
    of.expand = expand;
    of.more = p->join;
    of.in_c = 0;
    lt_block_run(&of, step);
}
