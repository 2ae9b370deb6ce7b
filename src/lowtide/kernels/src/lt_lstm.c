/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lstm.c: see lt_lstm.h. */
#include "lt_lstm.h"

#include <string.h>

#include "lt_dots.h"
#include "lt_fixed.h"
#include "lt_unary.h"

enum { FORGET, INPUT, CELL, OUTPUT, GATES };

/* A factor of the params. */
typedef struct {
    int32_t multiplier, shift, quick;
} factor;

static inline factor factor_of(const lt_lstm_s8 *p, int32_t k)
{
    factor by = {p->multiplier[k], p->shift[k], p->quick};
    return by;
}

static inline int32_t scale(int32_t x, factor by)
{
    if (by.quick != 0) {
        int32_t shift = -1 - by.shift;
        return lt_narrow(lt_add(x, x), by.multiplier, lt_centre(1, shift), shift);
    }
    return lt_scale(x, by.multiplier, by.shift);
}

/* Of four rows, those to scale: of one or two rows, the others are the same ones again. */
static inline int32_t different(int32_t rows)
{
    return (rows < 3) ? rows : 4;
}

/* Biases + weights * in of four of `rows` rows, scaled and saturated. */
static void product(const int32_t *bias, const int8_t *weights, const int8_t *in, int32_t n,
                    int32_t rows, factor by, int32_t *sums)
{
    lt_four of = lt_four_of(rows, n);
    for (int32_t i = 0; i < 4; i++) {
        sums[i] = bias[of.of[i]];
    }
    lt_dots_s8(sums, weights, of.next, in, n, of.other);
    const int32_t *const end = sums + different(rows);
    do {
        *sums = lt_clamp_s16(scale(*sums, by));
    } while (++sums != end);
}

/* activate(weights * in + recurrent * hidden) of one gate, into `to`. */
static void gate(const lt_lstm_s8 *p, int32_t g, const int8_t *in, const int8_t *hidden, int16_t *to)
{
    const int8_t *weights = p->weights + (g * p->units * p->inputs);
    const int8_t *recurrent = p->recurrent + (g * p->units * p->units);
    factor by_in = factor_of(p, g), by_hidden = factor_of(p, GATES + g);
    lt_four of = lt_four_of(p->units, 0);
    const int32_t many = different(p->units);
    for (int32_t u = 0; u < p->units; u += 4) {
        int32_t given[4], kept[4];
        int32_t first = lt_four_first(u, p->units), at = (g * p->units) + first;
        product(p->bias + at, weights + (first * p->inputs), in, p->inputs, p->units, by_in, given);
        product(p->recurrent_bias + at, recurrent + (first * p->units), hidden, p->units, p->units, by_hidden,
                kept);
        for (int32_t i = 0; i < many; i++) {
            to[first + of.of[i]] = (int16_t)lt_clamp_s16(given[i] + kept[i]);
        }
    }
    lt_apply_s16((g == CELL) ? lt_tanh_s16_row : lt_logistic_s16_row, p->logistic, p->units, 3, 0, to, to);
}

LT_SHARED void lt_lstm_s8_row(const void *params, const lt_step *step)
{
    const lt_lstm_s8 *p = params;
    int8_t *hidden = step->out[1];
    int16_t *cell = step->out[2];
    int8_t *out = step->out[0];
    int16_t *gates = step->scratch;
    int32_t n = p->units;
    factor by_forget = factor_of(p, 2 * GATES), by_input = factor_of(p, (2 * GATES) + 1);
    factor by_output = factor_of(p, (2 * GATES) + 2);
    for (int32_t g = 0; g < GATES; g++) {
        gate(p, g, step->in[0], hidden, gates + (g * n));
    }
    for (int32_t u = 0; u < n; u++) {
        int32_t kept = lt_clamp_s16(scale(gates[(FORGET * n) + u] * cell[u], by_forget));
        int32_t added = gates[(INPUT * n) + u] * gates[(CELL * n) + u];
        int32_t sum = lt_clamp_s16(kept + lt_clamp_s16(scale(added, by_input)));
        cell[u] = (int16_t)((p->clip > 0) ? lt_clamp(sum, -p->clip, p->clip) : sum);
    }
    lt_apply_s16(lt_tanh_s16_row, p->logistic, p->units, p->tanh_multiplier, p->tanh_shift, cell, gates);
    for (int32_t u = 0; u < n; u++) {
        int32_t made = scale(gates[u] * gates[(OUTPUT * n) + u], by_output) + p->hidden_zero;
        out[u] = (int8_t)lt_clamp(made, INT8_MIN, INT8_MAX);
    }
    (void)memcpy(hidden, out, (size_t)n);
}
