/* SPDX-License-Identifier: Apache-2.0 */
/* lt_unary.c: see lt_unary.h. */
#include "lt_unary.h"

#include "lt_fixed.h"

LT_SHARED void lt_leaky_relu_s16_row(const void *params, const lt_step *step)
{
    const lt_leaky_relu_s16 *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = in[i] - p->input_zero;
        if (x >= 0) {
            x = lt_scale(x, p->positive_multiplier, p->positive_shift);
        } else {
            x = lt_scale(p->negate ? -x : x, p->negative_multiplier, p->negative_shift);
        }
        out[i] = (int16_t)lt_clamp(x + p->output_zero, INT16_MIN, INT16_MAX);
    }
}

LT_SHARED void lt_clip_s16_row(const void *params, const lt_step *step)
{
    const lt_clip_s16 *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = (int16_t)lt_clamp(in[i], p->low, p->high);
    }
}

/* x in the table's scale, rounded. */
static int32_t rescale(const lt_logistic_s16 *p, int32_t x)
{
    int32_t half = (p->shift > 0) ? ((int32_t)1 << (p->shift - 1)) : 0;
    return ((x * p->multiplier) + half) >> p->shift;
}

/* 2^bits times the table at x / 2^bits, interpolated; the greatest value past its end. */
static int32_t look_up(const uint16_t *table, uint32_t x, uint32_t bits, uint32_t greatest)
{
    uint32_t index = x >> bits;
    if (index >= 255) {
        return (int32_t)(greatest << bits);
    }
    uint32_t rest = x & ((1U << bits) - 1U);
    uint32_t low = table[index];
    return (int32_t)((low << bits) + (rest * (table[index + 1] - low)));
}

LT_SHARED void lt_logistic_s16_row(const void *params, const lt_step *step)
{
    const lt_logistic_s16 *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = rescale(p, in[i]);
        int32_t y = look_up(p->table, (uint32_t)((x < 0) ? -x : x), 9, 0xFFFE);
        y = (x >= 0) ? (y + (1 << 9)) : ((1 << 25) - y + (1 << 9) - 1);
        out[i] = (int16_t)(y >> 10);
    }
}

LT_SHARED void lt_tanh_s16_row(const void *params, const lt_step *step)
{
    const lt_logistic_s16 *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = rescale(p, in[i]);
        int32_t y = look_up(p->table, (uint32_t)((x < 0) ? -x : x), 8, 0xFFFF);
        y = (x >= 0) ? (y - (1 << 23) + (1 << 7)) : -y + (1 << 23) + (1 << 7) - 1;
        out[i] = (int16_t)(y >> 8);
    }
}
