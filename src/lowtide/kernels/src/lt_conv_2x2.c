/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_2x2.c: see lt_conv_2x2.h. */
#include "lt_conv_2x2.h"

#include <stddef.h>

#include "lt_fixed.h"

enum { FITTING = 508 }; /* so many products fit 32 bits, whatever they are; whole fours */
#ifdef LT_DSP
enum { NEAR = 64 }; /* up to so many values of a window that are apart are put side by side first */
#endif

/* Four sums under way: `whole` and what was added since. */
typedef struct {
    int32_t sums[4];
    int64_t whole[4];
} totals;

static inline void begin(const lt_conv_2x2_s16 *p, totals *t, int32_t i, int32_t c)
{
    if (p->bias != NULL) {
        t->sums[i] = 0;
        t->whole[i] = p->bias[c];
    } else {
        t->sums[i] = p->start[c];
    }
}

static inline int32_t smaller(int32_t a, int32_t b)
{
    return (a < b) ? a : b;
}

/* Where sums have 64 bits: make them so. */
static void gather(totals *t)
{
    for (int32_t i = 0; i < 4; i++) {
        t->whole[i] += t->sums[i];
        t->sums[i] = 0;
    }
}

static inline int32_t shifted(int32_t sum, int32_t left)
{
    return (int32_t)((uint32_t)sum << left);
}

static int16_t result(const lt_conv_2x2_s16 *p, const totals *t, int32_t i, int32_t c)
{
    int32_t y;
    if (p->shift == NULL) {
        return (int16_t)lt_high_s16(shifted(t->sums[i], p->left), p->factor[c], p->output_zero);
    } else if (p->bias != NULL) {
        y = lt_scale_wide(t->whole[i], p->factor[c], p->shift[c]);
    } else {
        y = lt_scale(t->sums[i], p->factor[c], p->shift[c]);
    }
    return (int16_t)lt_clamp(lt_add(y, p->output_zero), INT16_MIN, INT16_MAX);
}

/* Whole sums and what is added to them: where these have 64 bits, what was added is taken in now and then. */
static void settle(const lt_conv_2x2_s16 *p, totals *t)
{
    if (p->bias != NULL) {
        gather(t);
    }
}

/* Add n products to four channels; x[0] is product k of a row of the window, whose weights are w. */
static void add_single(const lt_conv_2x2_s16 *p, totals *t, const int8_t *w, const lt_four *to, int32_t k,
                       const int16_t *x, int32_t n)
{
    while (n > 0) {
        int32_t before = k & 3, many = smaller(4 - before, n);
        if (many == 4) {
            many = smaller(n, FITTING) & ~3;
            lt_2x2_single(t->sums, w + k, to->next, x, many >> 2, to->other);
        } else {
            int16_t four[4];
            lt_2x2_fill(four, before, x, many);
            lt_2x2_single(t->sums, w + k - before, to->next, four, 1, to->other);
        }
        settle(p, t);
        x += many;
        k += many;
        n -= many;
    }
}

/* The number of weights of a row of the window. */
static inline int32_t line_of(const lt_conv_2x2_s16 *p)
{
    return ((p->kernel_w * p->in_c) + 3) & ~3;
}

/* Add the products of the window that begins in column `first`. */
static inline void add_window(const lt_conv_2x2_s16 *p, totals *t, const int8_t *w, const lt_four *to,
                              const void *const *rows, int32_t first)
{
    int32_t line = line_of(p);
    for (int32_t ky = 0; ky < p->kernel_h; ky++, w += line) {
        const int16_t *row = rows[ky];
        int32_t many = (p->dilation_w == 1) ? p->kernel_w : 1; /* columns side by side */
        for (int32_t kx = 0; (row != NULL) && (kx < p->kernel_w); kx += many) {
            int32_t column = first + (kx * p->dilation_w);
            int32_t from = (column < 0) ? -column : 0;
            int32_t end = ((column + many) > p->in_w) ? (p->in_w - column) : many;
            if (from < end) {
                add_single(p, t, w, to, (kx + from) * p->in_c, row + (column + from) * p->in_c,
                           (end - from) * p->in_c);
            }
        }
    }
}

/* Four output channels from c on of the pixel whose window begins in column `first`; of fewer, some twice. What the
 * window has is at `near`, if that is not null. */
static void make_single(const lt_conv_2x2_s16 *p, const void *const *rows, int32_t first, int32_t c, const lt_four *to,
                        const int16_t *near, int16_t *out)
{
    int32_t products = p->kernel_h * line_of(p);
    const int8_t *w = p->weights + (c * products);
    totals t;
    for (int32_t i = 0; i < 4; i++) {
        begin(p, &t, i, c + to->of[i]);
    }
    if (near != NULL) {
        add_single(p, &t, w, to, 0, near, products);
    } else {
        add_window(p, &t, w, to, rows, first);
    }
    for (int32_t i = 0; i < 4; i++) {
        out[c + to->of[i]] = result(p, &t, i, c + to->of[i]);
    }
}

#ifdef LT_DSP
/* Values of a window, as weights are for it: rows of them side by side, 0 where they are padding or beyond the row. */
LT_APART static void gather_window(const lt_conv_2x2_s16 *p, const void *const *rows, int32_t first, int16_t *to)
{
    int32_t in_c = p->in_c, beyond = line_of(p) - (p->kernel_w * in_c);
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int16_t *row = rows[ky];
        for (int32_t kx = 0, column = first; kx < p->kernel_w; kx++, column += p->dilation_w) {
            int32_t inside = (row != NULL) && (column >= 0) && (column < p->in_w);
            for (int32_t c = 0; c < in_c; c++) {
                *to++ = inside ? row[(column * in_c) + c] : 0;
            }
        }
        for (int32_t i = 0; i < beyond; i++) {
            *to++ = 0;
        }
    }
}
#endif

/* All output channels of a pixel. The last four may have channels that were made before. */
static void make_singles(const lt_conv_2x2_s16 *p, const void *const *rows, int32_t first, int16_t *out)
{
    int32_t products = p->kernel_h * line_of(p);
    lt_four to = lt_four_of(p->out_c, products);
    const int16_t *near = NULL;
#ifdef LT_DSP
    int16_t values[NEAR];
    if ((p->dilation_w > 1) && (p->kernel_w > 1) && (products <= NEAR)) {
        gather_window(p, rows, first, values);
        near = values;
    }
#endif
    for (int32_t c = 0; c < p->out_c; c += 4) {
        make_single(p, rows, first, lt_four_first(c, p->out_c), &to, near, out);
    }
}

/* The products of a row of the window that are in no four, for two channels and pixels. */
LT_APART static void add_rest(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t pixel,
                     int32_t n)
{
    int16_t fours[8];
    lt_2x2_fill(fours, 0, x, n);
    lt_2x2_fill(fours + 4, 0, x + pixel, n);
    lt_2x2_pair(sums, w, channel, fours, 4, 1);
}

/* All output channels of two pixels, whose windows, without padding, begin in column `first` and stride_w behind
 * it; sums have 32 bits. A single channel is made twice. */
static void make_pairs(const lt_conv_2x2_s16 *p, const void *const *rows, int32_t first, int16_t *out)
{
    int32_t run = p->kernel_w * p->in_c, fours = run >> 2, rest = run & 3, pixel = p->stride_w * p->in_c;
    int32_t line = line_of(p), second = p->out_c > 1, channel = second ? (p->kernel_h * line) : 0;
    int32_t offset = first * p->in_c;
    int32_t zero = p->output_zero, left = p->left;
    const int32_t *start = p->start, *factor = p->factor;
    const int8_t *weights = p->weights;
    int16_t *next = out + p->out_c; /* of the other pixel */
    const void *const *end = rows + p->kernel_h;
    if ((rest > 0) && ((offset + pixel + (4 * fours) + 4) <= (p->in_w * p->in_c))) {
        fours++; /* weights beyond the last product are 0 */
        rest = 0;
    }
    for (int32_t more = p->out_c; more > 0; more -= 2) {
        if ((more == 1) && second) { /* one that was made before, and the last */
            weights -= channel;
            start--;
            factor--;
            out--;
            next--;
        }
        int32_t sums[4] = {start[0], start[second], start[0], start[second]};
        const int8_t *w = weights;
        for (const void *const *at = rows; at != end; at++, w += line) {
            if (*at != NULL) {
                const int16_t *x = (const int16_t *)*at + offset;
                lt_2x2_pair(sums, w, channel, x, pixel, fours);
                if (rest > 0) {
                    add_rest(sums, w + (4 * fours), channel, x + (4 * fours), pixel, rest);
                }
            }
        }
        int32_t one = factor[0];
        out[0] = (int16_t)lt_high_s16(shifted(sums[0], left), one, zero);
        next[0] = (int16_t)lt_high_s16(shifted(sums[2], left), one, zero);
        if (second != 0) {
            int32_t other = factor[1];
            out[1] = (int16_t)lt_high_s16(shifted(sums[1], left), other, zero);
            next[1] = (int16_t)lt_high_s16(shifted(sums[3], left), other, zero);
        }
        weights += 2 * channel;
        start += 2;
        factor += 2;
        out += 2;
        next += 2;
    }
}

LT_SHARED void lt_conv_2x2_s16_row(const void *params, const lt_step *step)
{
    const lt_conv_2x2_s16 *p = params;
    int16_t *out = step->out[0];
    int32_t first = -p->pad_left, quick = p->shift == NULL;
    if ((p->dilation_w > 1) && (p->kernel_w > 1)) {
        quick = 0;
    }
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * p->in_c * p->out_c);
    for (int32_t x = 0; x < p->out_w;) {
        int32_t pixels = 1;
        if (quick && ((x + 1) < p->out_w) && (first >= 0) && ((first + p->stride_w + p->kernel_w) <= p->in_w)) {
            pixels = 2;
            make_pairs(p, step->in, first, out);
        } else {
            make_singles(p, step->in, first, out);
        }
        x += pixels;
        first += pixels * p->stride_w;
        out += pixels * p->out_c;
    }
    if ((p->low > INT16_MIN) || (p->high < INT16_MAX)) {
        for (int16_t *at = step->out[0]; at != out; at++) {
            *at = (int16_t)lt_clamp(*at, p->low, p->high);
        }
    }
}

#ifndef LT_DSP

/* Four products, wrapping; the middle two weights have changed places. */
static inline int32_t add_four(int32_t sum, const int8_t *w, const int16_t *x)
{
    sum = lt_add(sum, x[0] * w[0]);
    sum = lt_add(sum, x[1] * w[2]);
    sum = lt_add(sum, x[2] * w[1]);
    return lt_add(sum, x[3] * w[3]);
}

LT_SHARED void lt_2x2_pair(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x,
                            int32_t pixel, int32_t fours)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    if (channel == 0) { /* the same one twice */
        int32_t one = 0, other = 0;
        for (; fours > 0; fours--, w += 4, x += 4) {
            one = add_four(one, w, x);
            other = add_four(other, w, x + pixel);
        }
        a = lt_add(a, one);
        b = lt_add(b, one);
        c = lt_add(c, other);
        d = lt_add(d, other);
    }
    for (; fours > 0; fours--, w += 4, x += 4) {
        a = add_four(a, w, x);
        b = add_four(b, w + channel, x);
        c = add_four(c, w, x + pixel);
        d = add_four(d, w + channel, x + pixel);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

LT_SHARED void lt_2x2_single(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x,
                              int32_t fours, int32_t other)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    const int8_t *v = w + other;
    if (other == 0) { /* the same one four times, or the same two twice */
        int32_t one = 0, two = 0;
        for (; (channel != 0) && (fours > 0); fours--, w += 4, x += 4) {
            one = add_four(one, w, x);
            two = add_four(two, w + channel, x);
        }
        for (; fours > 0; fours--, w += 4, x += 4) {
            one = add_four(one, w, x);
            two = one;
        }
        a = lt_add(a, one);
        b = lt_add(b, two);
        c = lt_add(c, one);
        d = lt_add(d, two);
    }
    for (; fours > 0; fours--, w += 4, v += 4, x += 4) {
        a = add_four(a, w, x);
        b = add_four(b, w + channel, x);
        c = add_four(c, v, x);
        d = add_four(d, v + channel, x);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

#endif
