/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lstm_s16.c: see lt_lstm_s16.h. */
#include "lt_lstm_s16.h"

#include <stddef.h>
#include <string.h>

#include "lt_fixed.h"
#include "lt_unary.h"

enum { FORGET, INPUT, CELL, OUTPUT, GATES };

/* x times factor k of the params, of products and of sums. */
static int32_t scale(const lt_lstm_s16 *p, int32_t x, int32_t k)
{
    return lt_scale(x, p->multiplier[k], p->shift[k]);
}

static int32_t scale_sum(const lt_lstm_s16 *p, int64_t x, int32_t k)
{
    return lt_clamp_s16(lt_scale_wide(x, p->multiplier[k], p->shift[k]));
}

static int64_t dot(int64_t sum, const int8_t *a, const int16_t *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        sum += (int32_t)(a[i] * b[i]);
    }
    return sum;
}

/* activate(weights * in + recurrent * hidden) of one gate, into `to`. */
static void gate(const lt_lstm_s16 *p, int32_t g, const int16_t *in, const int16_t *hidden,
                 int16_t *to)
{
    const int8_t *weights = p->weights + (g * p->units * p->inputs);
    const int8_t *recurrent = p->recurrent + (g * p->units * p->units);
    for (int32_t u = 0; u < p->units; u++) {
        int32_t at = (g * p->units) + u;
        int64_t start = (p->recurrent_bias == NULL) ? 0 : p->recurrent_bias[at];
        int64_t given = dot(p->bias[at], weights + (u * p->inputs), in, p->inputs);
        int64_t kept = dot(start, recurrent + (u * p->units), hidden, p->units);
        to[u] = (int16_t)lt_clamp_s16(scale_sum(p, given, g) + scale_sum(p, kept, GATES + g));
    }
    lt_apply_s16((g == CELL) ? lt_tanh_s16_row : lt_logistic_s16_row, p->logistic, p->units, 3, 0, to, to);
}

LT_SHARED void lt_lstm_s16_row(const void *params, const lt_step *step)
{
    const lt_lstm_s16 *p = params;
    int16_t *hidden = step->out[1];
    int16_t *cell = step->out[2];
    int16_t *out = step->out[0];
    int16_t *gates = step->scratch;
    int32_t n = p->units;
    for (int32_t g = 0; g < GATES; g++) {
        gate(p, g, step->in[0], hidden, gates + (g * n));
    }
    for (int32_t u = 0; u < n; u++) {
        int32_t kept = lt_clamp_s16(scale(p, gates[(FORGET * n) + u] * cell[u], 2 * GATES));
        int32_t added = gates[(INPUT * n) + u] * gates[(CELL * n) + u];
        int32_t sum = lt_clamp_s16(kept + lt_clamp_s16(scale(p, added, (2 * GATES) + 1)));
        cell[u] = (int16_t)((p->clip > 0) ? lt_clamp(sum, -p->clip, p->clip) : sum);
    }
    lt_apply_s16(lt_tanh_s16_row, p->logistic, p->units, p->tanh_multiplier, p->tanh_shift, cell, gates);
    for (int32_t u = 0; u < n; u++) {
        int32_t made = scale(p, gates[u] * gates[(OUTPUT * n) + u], (2 * GATES) + 2) + p->hidden_zero;
        out[u] = (int16_t)lt_clamp_s16(made);
    }
    (void)memcpy(hidden, out, (size_t)n * sizeof *out);
}
