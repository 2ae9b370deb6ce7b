/* SPDX-License-Identifier: Apache-2.0 */
/* lt_svdf.c: see lt_svdf.h. */
#include "lt_svdf.h"

#include "lt_dots.h"
#include "lt_fixed.h"

/* The newest entries of the state of four filters from f on. */
static void features(const lt_svdf *p, const int8_t *in, int32_t f, lt_four of, int32_t *found)
{
    int32_t sums[4];
    for (int32_t i = 0; i < 4; i++) {
        sums[i] = p->start[f + of.of[i]];
    }
    lt_dots_s8(sums, p->features + (f * p->inputs), of.next, in, p->inputs, of.other);
    for (int32_t i = 0; i < 4; i++) {
        found[of.of[i]] = lt_scale(sums[i], p->state_multiplier, p->state_shift);
    }
}

static int32_t move_16(int16_t *state, const int16_t *times, int32_t n, int32_t newest, int32_t sum)
{
    for (; n > 1; n--, state++) {
        state[0] = state[1];
        sum = lt_add(sum, *times++ * state[0]);
    }
    state[0] = (int16_t)newest;
    return lt_add(sum, *times * newest);
}

static void row(const lt_svdf *p, const lt_step *step, int32_t is_wide)
{
    int32_t filters = p->units * p->rank, memory = p->memory;
    lt_four of = lt_four_of(filters, p->inputs);
    int32_t found[4] = {0, 0, 0, 0}, first = 0, f = 0, at = 0; /* f * memory */
    int8_t *out = step->out[0];
    for (int32_t unit = 0; unit < p->units; unit++) {
        int32_t sum = p->bias[unit];
        for (int32_t r = 0; r < p->rank; r++, f++, at += memory) {
            if ((f & 3) == 0) {
                first = lt_four_first(f, filters);
                features(p, step->in[0], first, of, found);
            }
            int32_t newest = found[f - first];
            if (is_wide != 0) {
                newest = lt_clamp_s16(newest) + p->state_zero;
                sum = move_16((int16_t *)step->out[1] + at, (const int16_t *)p->times + at, memory,
                              (int16_t)newest, sum);
            } else {
                newest = lt_clamp(newest, INT8_MIN, INT8_MAX) + p->state_zero;
                sum = lt_svdf_move((int8_t *)step->out[1] + at, (const int8_t *)p->times + at, memory,
                                   (int8_t)newest, sum);
            }
        }
        sum = lt_add(lt_scale(sum, p->output_multiplier, p->output_shift), p->output_zero);
        out[unit] = (int8_t)lt_clamp(sum, INT8_MIN, INT8_MAX);
    }
}

LT_SHARED void lt_svdf_state8_row(const void *params, const lt_step *step)
{
    row(params, step, 0);
}

LT_SHARED void lt_svdf_state16_row(const void *params, const lt_step *step)
{
    row(params, step, 1);
}

#ifndef LT_DSP

LT_SHARED int32_t lt_svdf_move(int8_t *state, const int8_t *times, int32_t n, int32_t newest, int32_t sum)
{
    for (; n > 1; n--, state++) {
        state[0] = state[1];
        sum = lt_add(sum, *times++ * state[0]);
    }
    state[0] = (int8_t)newest;
    return lt_add(sum, *times * newest);
}

#endif
