/* SPDX-License-Identifier: Apache-2.0 */
/* lt_move.c: see lt_move.h. */
#include "lt_move.h"

#include <stddef.h>
#include <string.h>

#include "lt_copy.h"
#include "lt_fixed.h"

#ifdef LT_DSP
enum { FEW = 8 };
#elif !defined(LT_COPIES_WORDS)
enum { FEW = 7 };
#else
/* all runs are copied alike */
#endif

/* Copy n bytes; runs of a few bytes are common (planes of an image) and not worth a call. */
static void copy(uint8_t *to, const uint8_t *from, int32_t n)
{
#ifdef LT_COPIES_WORDS
    lt_copy_run(to, from, n);
#else
    if (n > FEW) {
        (void)memcpy(to, from, (size_t)n);
        return;
    }
    if ((n & 1) != 0) {
        to[n - 1] = from[n - 1];
    }
    if (n > 1) {
        for (; n >= 4; n -= 4, to += 4, from += 4) {
            (void)memcpy(to, from, 4);
            LT_LOOP_AS_IT_IS(to);
        }
        if ((n & 2) != 0) {
            (void)memcpy(to, from, 2);
        }
    }
#endif
}

LT_SHARED void lt_copy_row(const void *params, const lt_step *step)
{
    const lt_copy *p = params;
    const uint8_t *in = (const uint8_t *)step->in[0] + p->from;
    uint8_t *out = step->out[0];
    if (in == out) {
        return;
    }
    for (int32_t i = 0; i < p->runs; i++) {
        copy(out, in + (i * p->pitch), p->bytes);
        out += p->bytes;
    }
}

LT_SHARED void lt_concat_row(const void *params, const lt_step *step)
{
    const lt_join *p = params;
    uint8_t *out = step->out[0];
    for (int32_t i = 0; i < p->runs; i++) {
        for (int32_t k = 0; k < p->count; k++) {
            int32_t n = p->bytes[k];
            copy(out, (const uint8_t *)step->in[k] + (i * n), n);
            out += n;
        }
    }
}

LT_SHARED void lt_split_row(const void *params, const lt_step *step)
{
    const lt_join *p = params;
    const uint8_t *in = step->in[0];
    for (int32_t i = 0; i < p->runs; i++) {
        for (int32_t k = 0; k < p->count; k++) {
            int32_t n = p->bytes[k];
            copy((uint8_t *)step->out[k] + (i * n), in, n);
            in += n;
        }
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
