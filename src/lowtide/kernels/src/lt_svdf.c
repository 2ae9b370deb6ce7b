/* SPDX-License-Identifier: Apache-2.0 */
/* lt_svdf.c: see lt_svdf.h. */
#include "lt_svdf.h"

#include "lt_dots.h"
#include "lt_fixed.h"

/* The newest entries of the state of four filters from f on, or of f alone four times, `next` being 0. */
static void features(const lt_svdf *p, const int8_t *in, int32_t f, int32_t next, int32_t *found)
{
    for (int32_t i = 0; i < 4; i++) {
        found[i] = p->start[f + next * i];
    }
    lt_dots_s8(found, p->features + f * p->inputs, next * p->inputs, in, p->inputs);
    for (int32_t i = 0; i < 4; i++) {
        found[i] = lt_scale(found[i], p->state_multiplier, p->state_shift);
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
    int32_t filters = p->units * p->rank, next = filters < 4 ? 0 : 1, memory = p->memory;
    int32_t found[4] = {0, 0, 0, 0}, first = 0, f = 0, at = 0; /* f * memory */
    int8_t *out = step->out[0];
    for (int32_t unit = 0; unit < p->units; unit++) {
        int32_t sum = p->bias[unit];
        for (int32_t r = 0; r < p->rank; r++, f++, at += memory) {
            if (next == 0 || (f & 3) == 0) {
                first = lt_dots_first(f, filters);
                features(p, step->in[0], first, next, found);
            }
            int32_t newest = found[f - first];
            if (is_wide) {
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
