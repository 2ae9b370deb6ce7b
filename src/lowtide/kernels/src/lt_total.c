/* SPDX-License-Identifier: Apache-2.0 */
/* lt_total.c: see lt_total.h. */
#include "lt_total.h"

#include "lt_elem.h"
#include "lt_fixed.h"

LT_INLINE void join(const void *params, const lt_step *step, lt_elem type)
{
    const lt_total *const p = params;
    uint32_t *const totals = step->out[0];
    const void *const row = step->in[0];
    const int32_t channels = p->channels;
    int32_t at = 0;
    for (int32_t pixel = p->pixels; pixel > 0; pixel--) {
        if (p->leaves != 0U) {
            for (int32_t c = 0; c < channels; c++, at++) {
                totals[c] -= (uint32_t)(lt_get(row, at, type) - p->zero);
            }
        } else {
            for (int32_t c = 0; c < channels; c++, at++) {
                totals[c] += (uint32_t)(lt_get(row, at, type) - p->zero);
            }
        }
    }
}

LT_INLINE void mean(const void *params, const lt_step *step, lt_elem type)
{
    const lt_total_mean *const p = params;
    const int32_t *const totals = step->in[0];
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t total = lt_scale(lt_add(totals[c], p->start), p->multiplier, p->shift) + p->output_zero;
        lt_put(step->out[0], c, lt_clamp(total, lt_least(type), lt_greatest(type)), type);
    }
}

LT_INLINE void average(const void *params, const lt_step *step, lt_elem type)
{
    const lt_total_average *const p = params;
    const int32_t *const totals = step->in[0];
    const int32_t half = p->count / 2;
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t total = totals[c] + p->start;
        const int32_t rounded = ((total > 0) ? (total + half) : (total - half)) / p->count;
        lt_put(step->out[0], c, lt_clamp(rounded, p->low, p->high), type);
    }
}

#define LT_TOTAL(name, how, type)                                     \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                                 \
        how(params, step, type);                                      \
    }

LT_TOTAL(total_s8, join, LT_S8)
LT_TOTAL(total_s16, join, LT_S16)
LT_TOTAL(total_mean_s8, mean, LT_S8)
LT_TOTAL(total_mean_s16, mean, LT_S16)
LT_TOTAL(total_average_s8, average, LT_S8)
LT_TOTAL(total_average_s16, average, LT_S16)
