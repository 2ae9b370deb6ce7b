/* SPDX-License-Identifier: Apache-2.0 */
/* lt_l2_norm.c: see lt_l2_norm.h. */
#include "lt_l2_norm.h"

#include "lt_fixed.h"

static int32_t saturated(int64_t x)
{
    return (x > INT32_MAX) ? INT32_MAX : (x < INT32_MIN) ? INT32_MIN : (int32_t)x;
}

/* 1 / sqrt(x) as a multiplier, and the shift that goes with it, 0 or below. */
static int32_t inverse_root(int32_t x, int32_t *shift)
{
    *shift = 0;
    if (x <= 1) {
        return INT32_MAX;
    }
    int32_t right = 11;
    while (x >= (1 << 29)) {
        x /= 4;
        right++;
    }
    while (x < (1 << 27)) {
        x *= 4;
        right--;
    }
    int32_t half = lt_divide_by_pot(x >> 1, 1); /* Q3.28 */
    int32_t y = 1 << 28;
    for (int32_t i = 0; i < 5; i++) { /* Newton's iteration */
        int32_t cube = saturated((int64_t)lt_high_mul(lt_high_mul(y, y), y) * 64);
        int32_t next = lt_high_mul((1 << 28) + (1 << 27), y) - lt_high_mul(half, cube);
        y = saturated((int64_t)next * 8);
    }
    y = lt_high_mul(y, 1518500250); /* sqrt(2) / 2 */
    if (right < 0) {
        return (int32_t)((uint32_t)y << -right);
    }
    *shift = -right;
    return y;
}

LT_SHARED void lt_l2_norm_s8_row(const void *params, const lt_step *step)
{
    const lt_l2_norm *p = params;
    const int8_t *in = step->in[0];
    int8_t *out = step->out[0];
    for (uint32_t g = 0; g < p->groups; g++, in += p->count, out += p->count) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < p->count; i++) {
            sum += (in[i] - p->zero) * (in[i] - p->zero);
        }
        int32_t shift;
        int32_t factor = inverse_root(sum, &shift);
        for (uint32_t i = 0; i < p->count; i++) {
            int32_t value = lt_scale(in[i] - p->zero, factor, shift + 7);
            out[i] = (int8_t)lt_clamp(value, INT8_MIN, INT8_MAX);
        }
    }
}
