/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fft.c: see lt_fft.h. */
#include "lt_fft.h"

#include "lt_elem.h"

typedef struct {
    int32_t r, i;
} complex_t;

/* A sum that wraps as a value of the type does. */
LT_INLINE int32_t wrapped(uint32_t x, lt_elem type)
{
    return (type == LT_S16) ? (int16_t)x : (int32_t)x;
}

LT_INLINE int32_t plus(int32_t a, int32_t b, lt_elem type)
{
    return wrapped((uint32_t)a + (uint32_t)b, type);
}

LT_INLINE int32_t minus(int32_t a, int32_t b, lt_elem type)
{
    return wrapped((uint32_t)a - (uint32_t)b, type);
}

LT_INLINE complex_t sum(complex_t a, complex_t b, lt_elem type)
{
    return (complex_t){plus(a.r, b.r, type), plus(a.i, b.i, type)};
}

LT_INLINE complex_t difference(complex_t a, complex_t b, lt_elem type)
{
    return (complex_t){minus(a.r, b.r, type), minus(a.i, b.i, type)};
}

/* a * b + c * d, as fractions. */
LT_INLINE int32_t products(int32_t a, int32_t b, int32_t c, int32_t d, lt_elem type)
{
    if (type == LT_S16) {
        return (int16_t)(((a * b) + (c * d) + (1 << 14)) >> 15);
    }
    return (int32_t)((((int64_t)a * b) + ((int64_t)c * d) + (1 << 30)) >> 31);
}

/* a * b, where b is of a table: none of those is the least value, whose opposite there is not. */
LT_INLINE complex_t product(complex_t a, complex_t b, lt_elem type)
{
    return (complex_t){products(a.r, b.r, a.i, -b.i, type), products(a.r, b.i, a.i, b.r, type)};
}

LT_INLINE complex_t times(complex_t a, int32_t factor, lt_elem type)
{
    return (complex_t){products(a.r, factor, 0, 0, type), products(a.i, factor, 0, 0, type)};
}

/* a / n, by a rounded-down 1 / n. */
LT_INLINE complex_t divided(complex_t a, int32_t n, lt_elem type)
{
    return times(a, ((type == LT_S16) ? INT16_MAX : INT32_MAX) / n, type);
}

LT_INLINE complex_t at(const void *row, uint32_t k, lt_elem type)
{
    return (complex_t){lt_get(row, (int32_t)(2 * k), type), lt_get(row, (int32_t)((2 * k) + 1), type)};
}

LT_INLINE void put(void *row, uint32_t k, complex_t x, lt_elem type)
{
    lt_put(row, (int32_t)(2 * k), x.r, type);
    lt_put(row, (int32_t)((2 * k) + 1), x.i, type);
}

/* Where point k of the input goes: its digits, by the factors, in the opposite order. */
static uint32_t place(const lt_fft *p, uint32_t k)
{
    uint32_t span = p->points;
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->stages; i++) {
        uint32_t factor = p->factors[i];
        uint32_t rest = (factor == 4) ? (k >> 2) : (factor == 2) ? (k >> 1) : (k / factor);
        span = (factor == 4) ? (span >> 2) : (factor == 2) ? (span >> 1) : (span / factor);
        found += (k - (rest * factor)) * span;
        k = rest;
    }
    return found;
}

/* One butterfly of two points, `span` apart: the first is x; `turn` is how far its twiddles are. */
LT_INLINE void two(const lt_fft *p, void *row, uint32_t k, uint32_t span, uint32_t turn, lt_elem type)
{
    complex_t a = divided(at(row, k, type), 2, type);
    complex_t b = divided(at(row, k + span, type), 2, type);
    b = product(b, at(p->turns, turn, type), type);
    put(row, k + span, difference(a, b, type), type);
    put(row, k, sum(a, b, type), type);
}

LT_INLINE void three(const lt_fft *p, void *row, uint32_t k, uint32_t span, uint32_t turn, lt_elem type)
{
    complex_t a = divided(at(row, k, type), 3, type);
    complex_t b = divided(at(row, k + span, type), 3, type);
    complex_t c = divided(at(row, k + (2 * span), type), 3, type);
    b = product(b, at(p->turns, turn, type), type);
    c = product(c, at(p->turns, 2 * turn, type), type);
    complex_t both = sum(b, c, type);
    complex_t apart = times(difference(b, c, type), at(p->turns, p->points / 3U, type).i, type);
    complex_t middle = {minus(a.r, both.r >> 1, type), minus(a.i, both.i >> 1, type)};
    put(row, k, sum(a, both, type), type);
    put(row, k + (2 * span),
        (complex_t){plus(middle.r, apart.i, type), minus(middle.i, apart.r, type)}, type);
    put(row, k + span,
        (complex_t){minus(middle.r, apart.i, type), plus(middle.i, apart.r, type)}, type);
}

LT_INLINE void four(const lt_fft *p, void *row, uint32_t k, uint32_t span, uint32_t turn, int inverse,
                    lt_elem type)
{
    complex_t a = divided(at(row, k, type), 4, type);
    complex_t b = divided(at(row, k + span, type), 4, type);
    complex_t c = divided(at(row, k + (2 * span), type), 4, type);
    complex_t d = divided(at(row, k + (3 * span), type), 4, type);
    b = product(b, at(p->turns, turn, type), type);
    c = product(c, at(p->turns, 2 * turn, type), type);
    d = product(d, at(p->turns, 3 * turn, type), type);
    complex_t even = sum(a, c, type);
    complex_t odd = difference(a, c, type);
    complex_t both = sum(b, d, type);
    complex_t apart = difference(b, d, type);
    complex_t left = {plus(odd.r, apart.i, type), minus(odd.i, apart.r, type)};
    complex_t right = {minus(odd.r, apart.i, type), plus(odd.i, apart.r, type)};
    put(row, k, sum(even, both, type), type);
    put(row, k + span, inverse ? right : left, type);
    put(row, k + (2 * span), difference(even, both, type), type);
    put(row, k + (3 * span), inverse ? left : right, type);
}

LT_INLINE void five(const lt_fft *p, void *row, uint32_t k, uint32_t span, uint32_t turn, lt_elem type)
{
    complex_t y = at(p->turns, p->points / 5U, type);
    complex_t z = at(p->turns, 2 * (p->points / 5U), type);
    complex_t x[5];
    for (uint32_t n = 0; n < 5; n++) {
        x[n] = divided(at(row, k + (n * span), type), 5, type);
        x[n] = (n == 0) ? x[n] : product(x[n], at(p->turns, n * turn, type), type);
    }
    complex_t outer = sum(x[1], x[4], type);
    complex_t inner = sum(x[2], x[3], type);
    complex_t far = difference(x[1], x[4], type);
    complex_t near = difference(x[2], x[3], type);
    put(row, k, sum(x[0], sum(outer, inner, type), type), type);
    complex_t a = sum(x[0], sum(times(outer, y.r, type), times(inner, z.r, type), type), type);
    complex_t b = sum(times(far, y.i, type), times(near, z.i, type), type);
    complex_t c = sum(x[0], sum(times(outer, z.r, type), times(inner, y.r, type), type), type);
    complex_t d = difference(times(near, y.i, type), times(far, z.i, type), type);
    put(row, k + span, (complex_t){minus(a.r, b.i, type), plus(a.i, b.r, type)}, type);
    put(row, k + (4 * span), (complex_t){plus(a.r, b.i, type), minus(a.i, b.r, type)}, type);
    put(row, k + (2 * span), (complex_t){plus(c.r, d.i, type), minus(c.i, d.r, type)}, type);
    put(row, k + (3 * span), (complex_t){minus(c.r, d.i, type), plus(c.i, d.r, type)}, type);
}

/* The complex transform, in place, of points that are where `place` says. */
LT_INLINE void transform(const lt_fft *p, void *row, int inverse, lt_elem type)
{
    uint32_t span = 1;
    for (uint32_t stage = p->stages; stage-- != 0;) {
        uint32_t factor = p->factors[stage];
        uint32_t block = span * factor;
        uint32_t turn = p->points / block;
        for (uint32_t from = 0; from < p->points; from += block) {
            for (uint32_t k = 0; k < span; k++) {
                switch (factor) {
                case 2:
                    two(p, row, from + k, span, k * turn, type);
                    break;
                case 3:
                    three(p, row, from + k, span, k * turn, type);
                    break;
                case 4:
                    four(p, row, from + k, span, k * turn, inverse, type);
                    break;
                default:
                    five(p, row, from + k, span, k * turn, type);
                    break;
                }
            }
        }
        span = block;
    }
}

/* (a + b) / 2 and (a - b) / 2, rounded down; of int16 without a wrap. */
LT_INLINE int32_t half_sum(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b) >> 1;
}

LT_INLINE int32_t half_difference(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b) >> 1;
}

LT_INLINE void forward(const lt_fft *p, const lt_step *step, lt_elem type)
{
    void *out = step->out[0];
    for (uint32_t k = 0; k < p->points; k++) {
        complex_t x = {0, 0};
        if ((2 * k) < p->count) {
            x.r = lt_get(step->in[0], (int32_t)(2 * k), type);
        }
        if (((2 * k) + 1) < p->count) {
            x.i = lt_get(step->in[0], (int32_t)((2 * k) + 1), type);
        }
        put(out, place(p, k), x, type);
    }
    transform(p, out, 0, type);
    complex_t whole = divided(at(out, 0, type), 2, type);
    put(out, 0, (complex_t){plus(whole.r, whole.i, type), 0}, type);
    put(out, p->points, (complex_t){minus(whole.r, whole.i, type), 0}, type);
    for (uint32_t k = 1; k <= (p->points / 2U); k++) {
        uint32_t mirrored = p->points - k;
        complex_t a = at(out, k, type);
        complex_t b = at(out, mirrored, type);
        a = divided(a, 2, type);
        b = divided((complex_t){b.r, minus(0, b.i, type)}, 2, type);
        complex_t both = sum(a, b, type);
        complex_t turned = product(difference(a, b, type), at(p->parts, k - 1, type), type);
        put(out, k, (complex_t){half_sum(both.r, turned.r), half_sum(both.i, turned.i)}, type);
        put(out, mirrored,
            (complex_t){half_difference(both.r, turned.r), half_difference(turned.i, both.i)}, type);
    }
}

LT_INLINE void backward(const lt_fft *p, const lt_step *step, lt_elem type)
{
    const void *in = step->in[0];
    void *out = step->out[0];
    complex_t first = at(in, 0, type);
    complex_t last = at(in, p->points, type);
    complex_t whole = {plus(first.r, last.r, type), minus(first.r, last.r, type)};
    put(out, 0, divided(whole, 2, type), type);
    for (uint32_t k = 1; k <= (p->points / 2U); k++) {
        uint32_t mirrored = p->points - k;
        complex_t a = at(in, k, type);
        complex_t b = at(in, mirrored, type);
        a = divided(a, 2, type);
        b = divided((complex_t){b.r, minus(0, b.i, type)}, 2, type);
        complex_t even = sum(a, b, type);
        complex_t odd = product(difference(a, b, type), at(p->parts, k - 1, type), type);
        complex_t x = difference(even, odd, type);
        put(out, place(p, k), sum(even, odd, type), type);
        put(out, place(p, mirrored), (complex_t){x.r, minus(0, x.i, type)}, type);
    }
    transform(p, out, 1, type);
}

LT_SHARED void lt_rfft_s16_row(const void *params, const lt_step *step)
{
    forward(params, step, LT_S16);
}

LT_SHARED void lt_rfft_s32_row(const void *params, const lt_step *step)
{
    forward(params, step, LT_S32);
}

LT_SHARED void lt_irfft_s16_row(const void *params, const lt_step *step)
{
    backward(params, step, LT_S16);
}

LT_SHARED void lt_irfft_s32_row(const void *params, const lt_step *step)
{
    backward(params, step, LT_S32);
}
