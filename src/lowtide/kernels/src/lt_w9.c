/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9.c: see lt_w9.h. `run` counts the multiplications of all channels, also of those that are made anew. */
#include "lt_w9.h"

#include <stddef.h>

#include "lt_fixed.h"

enum { FEWEST = 3 }; /* channels from which on four at once are the quicker */

/* One of the channels: what is the same for all its results. */
typedef struct {
    const int16_t *w;
    int32_t bias, multiplier, shift;
    int32_t in; /* depthwise: which channel of the input it reads */
} channel;

/* How sums become results. A copy: the compiler knows that no result that is stored changes it. */
typedef struct {
    int32_t multiplier, shift, centre, low, high;
    int32_t zero, narrow, clamps;
} scaling;

/* sum + the products of n bytes, flipped, and weights: see the header for their order. Wraps. */
static inline int32_t dot(const int8_t *x, const int16_t *w, int32_t n, int32_t flip, int32_t sum)
{
#ifdef LT_DSP
    const int32_t mask = (int32_t)((uint32_t)flip * 0x01010101U);
    for (const int8_t *end = x + (n & ~7); x != end; x += 8, w += 8) {
        int32_t a = lt_load(x) ^ mask, b = lt_load(x + 4) ^ mask;
        sum = lt_dual(lt_even(a), lt_load(w), sum);
        sum = lt_dual(lt_odd(a), lt_load(w + 2), sum);
        sum = lt_dual(lt_even(b), lt_load(w + 4), sum);
        sum = lt_dual(lt_odd(b), lt_load(w + 6), sum);
    }
    if ((n & 4) != 0) {
        int32_t a = lt_load(x) ^ mask;
        sum = lt_dual(lt_even(a), lt_load(w), sum);
        sum = lt_dual(lt_odd(a), lt_load(w + 2), sum);
        x += 4;
        w += 4;
    }
#else
    const int32_t mask = -flip; /* 0, or what also makes a sign of the flipped bit */
    for (int32_t left = n; left >= 4; left -= 4, x += 4, w += 4) {
        sum = lt_add(sum, ((x[0] ^ mask) * w[0]) + ((x[2] ^ mask) * w[1]));
        sum = lt_add(sum, ((x[1] ^ mask) * w[2]) + ((x[3] ^ mask) * w[3]));
    }
#endif
    for (n &= 3; n > 0; n--) {
        sum = lt_add(sum, (int8_t)(*x++ ^ flip) * *w++);
    }
    return sum;
}

/* sum + n weights times the input's zero point. */
LT_APART static int32_t padding(const lt_w9_s8 *p, const int16_t *w, int32_t n, int32_t sum)
{
    int32_t total = 0;
#ifdef LT_DSP
    for (; n > 3; n -= 4, w += 4) {
        total = lt_dual(lt_load(w), 0x10001, total);
        total = lt_dual(lt_load(w + 2), 0x10001, total);
    }
#endif
    for (; n > 0; n--) {
        total += *w++;
    }
    return lt_add(sum, total * p->input_zero);
}

/* Which taps of a row of the window that begins in column `first` lie in the image: from *from to *to - 1. */
static inline void taps_of(const lt_w9_s8 *p, int32_t first, int32_t *from, int32_t *to)
{
    int32_t low = 0, high = p->kernel_w;
    while ((low < high) && ((first + (low * p->dilation_w)) < 0)) {
        low++;
    }
    while ((low < high) && ((first + ((high - 1) * p->dilation_w)) >= p->in_w)) {
        high--;
    }
    *from = low;
    *to = high;
}

/* A row of the window of which some columns are padding, all others lying side by side; the first is at x. */
LT_APART static int32_t dot_edge(const lt_w9_s8 *p, const int8_t *x, int32_t from, int32_t to, const int16_t *w,
                                 int32_t sum)
{
    int32_t in_c = p->in_c, run = p->kernel_w * in_c;
    from *= in_c;
    to *= in_c;
    if ((in_c & 3) == 0) { /* columns have whole fours */
        sum = padding(p, w, from, sum);
        sum = dot(x, w + from, to - from, p->flip, sum);
        return padding(p, w + to, run - to, sum);
    }
    int32_t whole = run & ~3;
    for (int32_t k = 0; k < run; k++) {
        int32_t swapped = (k < whole) && (((k & 3) == 1) || ((k & 3) == 2));
        int32_t byte = ((k >= from) && (k < to)) ? (int8_t)(x[k - from] ^ p->flip) : p->input_zero;
        sum = lt_add(sum, byte * w[swapped ? (k ^ 3) : k]);
    }
    return sum;
}

/* The same of columns that are apart: `first` is the first of them. */
LT_APART static int32_t dot_apart(const lt_w9_s8 *p, const int8_t *row, int32_t first, const int16_t *w,
                                  int32_t sum)
{
    int32_t in_c = p->in_c, whole = (p->kernel_w * in_c) & ~3, k = 0;
    for (int32_t kx = p->kernel_w; kx > 0; kx--, first += p->dilation_w) {
        int32_t inside = (first >= 0) && (first < p->in_w);
        if ((in_c & 3) == 0) { /* a column has whole fours */
            sum = inside ? dot(row + (first * in_c), w + k, in_c, p->flip, sum) : padding(p, w + k, in_c, sum);
            k += in_c;
            continue;
        }
        for (int32_t c = 0; c < in_c; c++, k++) {
            int32_t x = inside ? (int8_t)(row[(first * in_c) + c] ^ p->flip) : p->input_zero;
            int32_t swapped = (k < whole) && (((k & 3) == 1) || ((k & 3) == 2));
            sum = lt_add(sum, x * w[swapped ? (k ^ 3) : k]);
        }
    }
    return sum;
}

/* Whether columns of a convolution's window lie side by side. Where there is Helium, lt_w9_conv makes all such
 * windows of more than one pixel. */
static inline int32_t is_near(const lt_w9_s8 *p)
{
#ifdef LT_HELIUM
    (void)p;
    return 0;
#else
    return (p->dilation_w == 1) || (p->kernel_w == 1);
#endif
}

/* The sum of a window that begins in column `first`, some of which may be padding. */
static int32_t window_edge(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t first)
{
    int32_t sum = of->bias, run = p->kernel_w * p->in_c, from, to;
    const int16_t *w = of->w;
    taps_of(p, first, &from, &to);
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++, w += run) {
        if ((*rows == NULL) || (from == to)) {
            sum = padding(p, w, run, sum);
        } else if (is_near(p) != 0) {
            sum = dot_edge(p, (const int8_t *)*rows + ((first + from) * p->in_c), from, to, w, sum);
        } else {
            sum = dot_apart(p, *rows, first, w, sum);
        }
    }
    return sum;
}

/* The same of a depthwise convolution. */
static int32_t taps_edge(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t first)
{
    int32_t sum = of->bias, outside = 0, from, to, next = p->dilation_w * p->in_c;
    const int16_t *w = of->w;
    taps_of(p, first, &from, &to);
    int32_t at = ((first + (from * p->dilation_w)) * p->in_c) + of->in;
    for (int32_t ky = p->kernel_h; ky > 0; ky--) {
        const int8_t *row = *rows++;
        int32_t begin = (row == NULL) ? p->kernel_w : from, end = (row == NULL) ? p->kernel_w : to, kx = 0;
        for (; kx < begin; kx++) {
            outside += *w++;
        }
        for (row = (row == NULL) ? row : (row + at); kx < end; kx++, row += next) {
            sum = lt_add(sum, *row * *w++);
        }
        for (; kx < p->kernel_w; kx++) {
            outside += *w++;
        }
    }
    return lt_add(sum, outside * p->input_zero);
}

static inline scaling scaling_of(const lt_w9_s8 *p, const channel *of)
{
    scaling s = {of->multiplier, of->shift, 0, p->low, p->high, p->output_zero, p->narrow, 1};
    if (s.narrow != 0) {
        s.shift = -1 - s.shift;
        s.centre = lt_centre((2 * s.zero) + 1, s.shift);
#ifdef LT_DSP
        s.clamps = (s.low > INT8_MIN) || (s.high < INT8_MAX); /* results are saturated */
#endif
    }
    return s;
}

LT_APART static int32_t scaled(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero)
{
    return lt_add(lt_scale(sum, multiplier, shift), zero);
}

static inline int8_t result(const scaling *s, int32_t sum)
{
    int32_t y;
    if (s->narrow != 0) {
#ifdef LT_DSP
        y = lt_narrow_s8(lt_add(sum, sum), s->multiplier, s->centre, s->shift);
#else
        y = lt_narrow(lt_add(sum, sum), s->multiplier, s->centre, s->shift);
#endif
    } else {
        y = scaled(sum, s->multiplier, s->shift, s->zero);
    }
    return (int8_t)(s->clamps ? lt_clamp(y, s->low, s->high) : y);
}

/* Columns x to `end` - 1 of a channel, whatever the windows. */
static void run_edge(const lt_w9_s8 *p, const channel *of, const lt_step *step, int32_t x, int32_t end,
                     int8_t *out)
{
    scaling s = scaling_of(p, of);
    for (; x < end; x++) {
        int32_t first = (x * p->stride_w) - p->pad_left;
        int32_t sum = (p->filters != 0) ? taps_edge(p, of, step->in, first)
                                      : window_edge(p, of, step->in, first);
        out[x * p->out_c] = result(&s, sum);
    }
}

/* So many columns of a 1 x 1 convolution. */
LT_APART static void run_pixels(const lt_w9_s8 *p, const channel *of, const int8_t *pixel, int8_t *out)
{
    scaling s = scaling_of(p, of);
    int32_t pitch = p->stride_w * p->in_c, out_c = p->out_c, n = p->in_c;
    const channel own = *of;
    for (int32_t left = p->out_w; left > 0; left--, pixel += pitch, out += out_c) {
        *out = result(&s, dot(pixel, own.w, n, 0, own.bias));
    }
}

#ifndef LT_HELIUM
/* Some columns whose windows have no columns of padding; the first begins `at` bytes from where the rows
 * do. */
LT_APART static void run_windows(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t at,
                        int32_t left, int8_t *out)
{
    scaling s = scaling_of(p, of);
    int32_t pitch = p->stride_w * p->in_c, out_c = p->out_c, run = p->kernel_w * p->in_c;
    int32_t flip = p->flip;
    const void *const *last = rows + p->kernel_h;
    const channel own = *of;
    for (; left > 0; left--, at += pitch, out += out_c) {
        int32_t sum = own.bias;
        const int16_t *w = own.w;
        for (const void *const *row = rows; row != last; row++, w += run) {
            sum = (*row == NULL) ? padding(p, w, run, sum) : dot((const int8_t *)*row + at, w, run, flip, sum);
        }
        *out = result(&s, sum);
    }
}
#endif

/* A row of three weights and where its products begin: of a row that is none the weights are 0, and *bias has
 * what it adds. */
static inline const int8_t *row_of_3x3(const lt_w9_s8 *p, const void *const *rows, int32_t ky, int32_t at,
                                       int32_t w[3], int32_t *bias)
{
    if (rows[ky] == NULL) {
        *bias = lt_add(*bias, (w[0] + w[1] + w[2]) * p->input_zero);
        w[0] = 0;
        w[1] = 0;
        w[2] = 0;
        return (const int8_t *)((rows[0] != NULL) ? rows[0] : (rows[1] != NULL) ? rows[1] : rows[2]) + at;
    }
    return (const int8_t *)rows[ky] + at;
}

/* The same of a depthwise convolution of three times three, of which a row is there. */
LT_APART static void run_3x3(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t at,
                    int32_t left, int8_t *out)
{
    scaling s = scaling_of(p, of);
    int32_t pitch = p->dilation_w * p->in_c, step = p->stride_w * p->in_c, out_c = p->out_c;
    int32_t own[9], sum_of_none = of->bias;
    for (int32_t i = 0; i < 9; i++) {
        own[i] = of->w[i];
    }
    const int8_t *a = row_of_3x3(p, rows, 0, at, own, &sum_of_none);
    const int8_t *b = row_of_3x3(p, rows, 1, at, own + 3, &sum_of_none);
    const int8_t *c = row_of_3x3(p, rows, 2, at, own + 6, &sum_of_none);
    const int32_t w0 = own[0], w1 = own[1], w2 = own[2], w3 = own[3], w4 = own[4], w5 = own[5], w6 = own[6];
    const int32_t w7 = own[7], w8 = own[8], bias = sum_of_none;
    for (; left > 0; left--, a += step, b += step, c += step, out += out_c) {
        int32_t sum = lt_add(bias, (a[0] * w0) + (a[pitch] * w1) + (a[2 * pitch] * w2));
        sum = lt_add(sum, (b[0] * w3) + (b[pitch] * w4) + (b[2 * pitch] * w5));
        sum = lt_add(sum, (c[0] * w6) + (c[pitch] * w7) + (c[2 * pitch] * w8));
        *out = result(&s, sum);
    }
}

/* All columns of a channel: those whose windows have no columns of padding may be quick. */
static void run_row(const lt_w9_s8 *p, const channel *of, const lt_step *step, int8_t *out)
{
    int32_t three = (p->filters != 0) && (p->kernel_h == 3) && (p->kernel_w == 3), first = 0, end = 0;
    int32_t reach = p->in_w - 1 - (p->kernel_w - 1) * p->dilation_w + p->pad_left;
    int32_t quick = (three || ((p->filters == 0) && (p->dilation_w == 1) && is_near(p))) && (reach >= 0);
    if (three != 0) {
        quick = quick && ((step->in[0] != NULL) || (step->in[1] != NULL) || (step->in[2] != NULL));
    }
    if (quick != 0) {
        end = (reach / p->stride_w) + 1;
        end = (end < p->out_w) ? end : p->out_w;
        first = (p->pad_left + p->stride_w - 1) / p->stride_w;
        first = (first < end) ? first : end;
        int32_t at = (((first * p->stride_w) - p->pad_left) * p->in_c) + of->in;
#ifdef LT_HELIUM
        run_3x3(p, of, step->in, at, end - first, out + (first * p->out_c));
#else
        (three ? run_3x3 : run_windows)(p, of, step->in, at, end - first, out + (first * p->out_c));
#endif
    }
    if (first > 0) {
        run_edge(p, of, step, 0, first, out);
    }
    run_edge(p, of, step, end, p->out_w, out);
}

LT_SHARED void lt_w9_s8_row(const void *params, const lt_step *step)
{
    const lt_w9_s8 *p = params;
    int32_t size = p->kernel_h * p->kernel_w, each = (p->filters != 0) ? size : (size * p->in_c);
    channel of;
    of.w = p->weights;
    if (p->count < p->out_c) {
        p->run(p->params, step);
    } else {
        LT_MACS(p->out_w * each * p->count);
    }
#ifdef LT_HELIUM
    if ((p->count >= FEWEST) && (p->filters != 0)) {
        lt_w9_depthwise(p, step);
        return;
    }
#endif
#ifdef LT_DSP
#ifdef LT_HELIUM
    int32_t fewest = (size > 1) ? 1 : FEWEST;
#else
    int32_t fewest = FEWEST;
#endif
    if ((p->count >= fewest) && (p->filters == 0) && ((p->dilation_w == 1) || (p->kernel_w == 1))) {
        lt_w9_conv(p, step);
        return;
    }
#endif
    for (int32_t i = 0; i < p->count; i++, of.w += each) {
        int8_t *out = (int8_t *)step->out[0] + p->channels[i];
        of.bias = p->bias[i];
        of.multiplier = p->multiplier[i];
        of.shift = p->shift[i];
        of.in = (p->filters != 0) ? (p->channels[i] / p->filters) : 0;
        if ((p->filters == 0) && (size == 1)) {
            run_pixels(p, &of, step->in[0], out);
        } else {
            run_row(p, &of, step, out);
        }
    }
}
