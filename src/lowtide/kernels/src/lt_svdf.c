/* SPDX-License-Identifier: Apache-2.0 */
/* lt_svdf.c: see lt_svdf.h. */
#include "lt_svdf.h"

#include "lt_elem.h"
#include "lt_fixed.h"

/* Filter f: its new state's newest entry. */
static int32_t feature(const lt_svdf *p, const int8_t *in, int32_t f, int32_t low, int32_t high)
{
    const int8_t *weights = p->features + f * p->inputs;
    int32_t sum = 0;
    for (int32_t i = 0; i < p->inputs; i++) {
        sum += weights[i] * (in[i] - p->input_zero);
    }
    return lt_clamp(lt_scale(sum, p->state_multiplier, p->state_shift), low, high) + p->state_zero;
}

LT_INLINE void row(const lt_svdf *p, const lt_step *step, lt_elem type)
{
    int32_t low = type == LT_S16 ? INT16_MIN : INT8_MIN;
    int32_t high = type == LT_S16 ? INT16_MAX : INT8_MAX;
    int8_t *out = step->out[0];
    void *state = step->out[1];
    int32_t f = 0;
    int32_t at = 0; /* f * memory */
    for (int32_t unit = 0; unit < p->units; unit++) {
        int32_t sum = p->bias[unit];
        for (int32_t r = 0; r < p->rank; r++, f++) {
            for (int32_t m = 0; m < p->memory; m++, at++) {
                int32_t value = m + 1 < p->memory ? lt_get(state, at + 1, type)
                                                  : feature(p, step->in[0], f, low, high);
                lt_put(state, at, value, type);
                value = lt_get(state, at, type) - p->state_zero;
                sum = lt_add(sum, lt_get(p->times, at, type) * value);
            }
        }
        sum = lt_scale(sum, p->output_multiplier, p->output_shift) + p->output_zero;
        out[unit] = (int8_t)lt_clamp(sum, INT8_MIN, INT8_MAX);
    }
}

LT_SHARED void lt_svdf_state8_row(const void *params, const lt_step *step)
{
    row(params, step, LT_S8);
}

LT_SHARED void lt_svdf_state16_row(const void *params, const lt_step *step)
{
    row(params, step, LT_S16);
}
