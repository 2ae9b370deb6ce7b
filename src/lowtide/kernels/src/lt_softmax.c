/* SPDX-License-Identifier: Apache-2.0 */
/* lt_softmax.c: see lt_softmax.h. */
#include "lt_softmax.h"

#include "lt_elem.h"
#include "lt_fixed.h"

/* Leading zeros of x > 0; 31 for 0. */
static int32_t leading_zeros(uint32_t x)
{
    int32_t zeros = 0;
    for (; (zeros < 31) && (x < 0x80000000U); x <<= 1) {
        zeros++;
    }
    return zeros;
}

/* 1 / (1 + x) in Q0.31 for x in [0, 1), from 1 + x in Q1.31: Newton's iteration. */
static int32_t reciprocal(uint32_t one_plus_x)
{
    int32_t half = (int32_t)(one_plus_x >> 1);                    /* (1 + x) / 2 in Q0.31 */
    int32_t y = 1515870810 + lt_high_mul(half, -1010580540); /* Q2.29: 48/17 - 32/17 * half */
    for (int32_t i = 0; i < 3; i++) {
        y += lt_high_mul(y, (1 << 29) - lt_high_mul(half, y)) * 4;
    }
    return (y > (INT32_MAX / 2)) ? INT32_MAX : (y * 2);
}

LT_INLINE void softmax(const lt_softmax_8 *p, const uint8_t *in, void *out, int32_t out_bits)
{
    uint32_t greatest = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t value = in[i] ^ p->in_flip;
        greatest = (value > greatest) ? value : greatest;
    }
    uint32_t sum = 0; /* Q12.19 */
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t below = greatest - (in[i] ^ p->in_flip);
        if (below < p->reach) {
            sum += (uint32_t)lt_divide_by_pot(p->table[below], 12);
        }
    }
    int32_t zeros = leading_zeros(sum);
    int32_t scale = reciprocal(sum << zeros);
    int32_t right = 12 - zeros + 31 - out_bits;
    right = (right > 31) ? 31 : right; /* the reference stops the program */
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t below = greatest - (in[i] ^ p->in_flip);
        int32_t value = 0;
        if (below < p->reach) {
            value = lt_divide_by_pot(lt_high_mul(scale, p->table[below]), right);
            value = lt_clamp(value, 0, (1 << out_bits) - 1);
        }
        if (out_bits == 8) {
            ((uint8_t *)out)[i] = (uint8_t)(value ^ p->out_flip);
        } else {
            ((int16_t *)out)[i] = (int16_t)(value + INT16_MIN);
        }
    }
}

LT_SHARED void lt_softmax_8_row(const void *params, const lt_step *step)
{
    const lt_softmax_8 *p = params;
    const uint8_t *in = step->in[0];
    uint8_t *out = step->out[0];
    for (uint32_t i = 0; i < p->groups; i++, in += p->count, out += p->count) {
        softmax(p, in, out, 8);
    }
}

LT_SHARED void lt_softmax_8_s16_row(const void *params, const lt_step *step)
{
    const lt_softmax_8 *p = params;
    const uint8_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->groups; i++, in += p->count, out += p->count) {
        softmax(p, in, out, 16);
    }
}

/* The table at x, -32768 to 32767 for its 512 sections, interpolated. */
static int32_t look_up(const int16_t *table, int32_t x)
{
    const int16_t *at = table + 256 + (x >> 7);
    return at[0] + (((at[1] - at[0]) * (x & 127) + 64) >> 7);
}

static void softmax_s16(const lt_softmax_s16 *p, const int16_t *in, int16_t *out)
{
    int32_t greatest = INT16_MIN;
    for (uint32_t i = 0; i < p->count; i++) {
        greatest = (in[i] > greatest) ? in[i] : greatest;
    }
    uint32_t sum = 0; /* Q16.15 */
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = lt_scale(in[i] - greatest, p->multiplier, p->shift) + INT16_MAX;
        x = look_up(p->exp, lt_clamp(x, INT16_MIN, INT16_MAX));
        out[i] = (int16_t)x;
        sum += (uint32_t)x;
    }
    int32_t zeros = leading_zeros(sum);
    int32_t x = (int32_t)((((uint64_t)sum << (zeros - 1)) + (1 << 13)) >> 14) - (3 << 15);
    x = look_up(p->reciprocal, lt_clamp(x, INT16_MIN, INT16_MAX));
    int32_t right = 31 - zeros;
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t value = ((out[i] * x) + (1 << (right - 1))) >> right;
        out[i] = (int16_t)lt_clamp(value, 0, INT16_MAX);
    }
}

LT_SHARED void lt_softmax_s16_row(const void *params, const lt_step *step)
{
    const lt_softmax_s16 *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->groups; i++, in += p->count, out += p->count) {
        softmax_s16(p, in, out);
    }
}
