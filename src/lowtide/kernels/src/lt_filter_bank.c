/* SPDX-License-Identifier: Apache-2.0 */
/* lt_filter_bank.c: see lt_filter_bank.h. */
#include "lt_filter_bank.h"

#include "lt_bits.h"

LT_SHARED void lt_filter_bank_row(const void *params, const lt_step *step)
{
    const lt_filter_bank *p = params;
    const uint32_t *in = step->in[0];
    uint64_t *out = step->out[0];
    uint64_t next = 0;
    for (uint32_t band = 0; band <= p->channels; band++) {
        const uint32_t *energies = in + p->starts[band];
        const uint16_t *weights = p->weights + p->weight_starts[band];
        const uint16_t *unweights = p->unweights + p->weight_starts[band];
        uint64_t sum = next;
        next = 0;
        for (uint32_t i = 0; i < p->widths[band]; i++) {
            sum += (uint64_t)weights[i] * energies[i];
            next += (uint64_t)unweights[i] * energies[i];
        }
        if (band > 0) {
            out[band - 1] = sum;
        }
    }
}

/* The square root of a number below 2^32, rounded, at most 2^16 - 1. */
static uint32_t root_32(uint32_t x)
{
    uint32_t root = 0;
    for (uint32_t bit = (x != 0) ? (1U << ((lt_bits(x) - 1) & ~1U)) : 0; bit != 0; bit >>= 2) {
        uint32_t tried = root + bit;
        root >>= 1;
        if (x >= tried) {
            x -= tried;
            root += bit;
        }
    }
    return ((x > root) && (root != 0xFFFF)) ? (root + 1) : root;
}

/* The same of any number, at most 2^32 - 1. */
static uint32_t root_64(uint64_t x)
{
    uint32_t high = (uint32_t)(x >> 32);
    if (high == 0) {
        return root_32((uint32_t)x);
    }
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << ((lt_bits(high) + 31) & ~1U); bit != 0; bit >>= 2) {
        uint64_t tried = root + bit;
        root >>= 1;
        if (x >= tried) {
            x -= tried;
            root += bit;
        }
    }
    return (uint32_t)(((x > root) && (root != 0xFFFFFFFFU)) ? (root + 1) : root);
}

LT_SHARED void lt_square_root_row(const void *params, const lt_step *step)
{
    const lt_square_root *p = params;
    const uint64_t *in = step->in[0];
    uint32_t shift = *(const uint32_t *)step->in[1] & 31;
    uint32_t *out = step->out[0];
    for (uint32_t i = 0; i < p->channels; i++) {
        out[i] = root_64(in[i]) >> shift;
    }
}

LT_SHARED void lt_subtraction_row(const void *params, const lt_step *step)
{
    const lt_subtraction *p = params;
    const uint32_t *in = step->in[0];
    uint32_t *out = step->out[0];
    uint32_t *estimate = step->out[1];
    uint32_t *kept = step->out[2];
    for (uint32_t i = 0; i < p->channels; i++) {
        uint32_t x = in[i];
        uint32_t scaled = x << p->smoothing_bits;
        uint32_t now = (i & 1) ? p->odd_smoothing : p->even_smoothing;
        uint32_t before = (i & 1) ? p->odd_one_minus : p->even_one_minus;
        uint32_t noise =
            (uint32_t)((((uint64_t)scaled * now) + ((uint64_t)kept[i] * before)) >> p->bits);
        uint32_t taken = (noise < scaled) ? noise : scaled;
        noise = p->clamps ? taken : noise;
        kept[i] = noise;
        estimate[i] = noise;
        uint32_t least = (uint32_t)(((uint64_t)x * p->least) >> p->bits);
        uint32_t rest = (scaled - taken) >> p->smoothing_bits;
        out[i] = (rest > least) ? rest : least;
    }
}

/* The gain at a noise of x: a parabola over the numbers of so many bits, by their next ten bits. */
static int32_t gain(const int16_t *gains, uint32_t x)
{
    if (x <= 2) {
        return gains[x];
    }
    uint32_t bits = lt_bits(x);
    const int16_t *of = gains + (4 * bits) - 6;
    int32_t part = (int32_t)(((bits < 11) ? (x << (11 - bits)) : (x >> (bits - 11))) & 0x3FF);
    int32_t slope = ((of[2] * part) >> 5) + (of[1] * 32);
    int32_t more = (int32_t)((uint32_t)slope * (uint32_t)part + (1U << 14)) >> 15;
    return (int16_t)(more + of[0]);
}

LT_SHARED void lt_pcan_row(const void *params, const lt_step *step)
{
    const lt_pcan *p = params;
    const uint32_t *in = step->in[0];
    const uint32_t *noise = step->in[1];
    uint32_t *out = step->out[0];
    for (uint32_t i = 0; i < p->channels; i++) {
        uint64_t product = (uint64_t)in[i] * (uint32_t)gain(p->gains, noise[i]);
        uint32_t x = (uint32_t)(product >> p->shift); /* 12 bits after the point, the result has 6 */
        out[i] = (x < (2U << 12)) ? ((x * x) >> 20) : ((x >> 6) - 64);
    }
}

/* 2^16 * log2(x), of x above 0. */
static uint32_t log_2(const uint16_t *logarithms, uint32_t x)
{
#ifdef __GNUC__
    if (x == 0U) {
        __builtin_unreachable(); /* for analysers; no instruction */
    }
#endif
    uint32_t whole = lt_bits(x) - 1;
    uint32_t part = x - (UINT32_C(1) << whole);
    part = (whole < 16) ? (part << (16 - whole)) : (part >> (whole - 16));
    uint32_t at = part >> 9;
    int32_t low = logarithms[at];
    int32_t slope = logarithms[at + 1] - low;
    return (whole << 16) + part + (uint32_t)(low + (slope * (int32_t)(part & 511) >> 16));
}

LT_SHARED void lt_log_row(const void *params, const lt_step *step)
{
    const lt_log *p = params;
    const uint32_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->channels; i++) {
        uint32_t x = in[i] << p->bits;
        uint32_t y = 0;
        if (x > 1) {
            y = (uint32_t)((UINT64_C(45426) * log_2(p->logarithms, x) + (1 << 15)) >> 16);
            y = ((p->scale * y) + (1U << 15)) >> 16; /* 45426 is 2^16 * ln(2) */
        }
        out[i] = (int16_t)((y < INT16_MAX) ? y : INT16_MAX);
    }
}
