/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9.c: see lt_w9.h. What a kernel counts of multiplications, `run` has counted. */
#include "lt_w9.h"

#include <stddef.h>

#include "lt_fixed.h"

#ifdef LT_HELIUM
#include <arm_mve.h>
#endif

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
#endif
#if defined(LT_HELIUM)
    static const uint16_t order[8] = {0, 2, 1, 3, 4, 6, 5, 7};
    const uint16x8_t offsets = vld1q_u16(order);
    const int16x8_t sign = vdupq_n_s16((int16_t)-flip);
    for (int32_t left = n >> 3; left > 0; left--, x += 8, w += 8) {
        int16x8_t bytes = vldrbq_gather_offset_s16(x, offsets);
        bytes = (flip != 0) ? veorq_s16(bytes, sign) : bytes;
        sum = vmladavaq_s16(sum, bytes, vld1q_s16(w));
    }
#elif defined(LT_DSP)
    for (const int8_t *end = x + (n & ~7); x != end; x += 8, w += 8) {
        int32_t a = lt_load(x) ^ mask, b = lt_load(x + 4) ^ mask;
        sum = lt_dual(lt_even(a), lt_load(w), sum);
        sum = lt_dual(lt_odd(a), lt_load(w + 2), sum);
        sum = lt_dual(lt_even(b), lt_load(w + 4), sum);
        sum = lt_dual(lt_odd(b), lt_load(w + 6), sum);
    }
#endif
#ifdef LT_DSP
    if ((n & 4) != 0) {
        int32_t a = lt_load(x) ^ mask;
        sum = lt_dual(lt_even(a), lt_load(w), sum);
        sum = lt_dual(lt_odd(a), lt_load(w + 2), sum);
        x += 4;
        w += 4;
    }
#else
    for (int32_t left = n; left >= 4; left -= 4, x += 4, w += 4) {
        sum = lt_add(sum, ((int8_t)(x[0] ^ flip) * w[0]) + ((int8_t)(x[2] ^ flip) * w[1]));
        sum = lt_add(sum, ((int8_t)(x[1] ^ flip) * w[2]) + ((int8_t)(x[3] ^ flip) * w[3]));
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
    for (; n > 0; n--) {
        total += *w++;
    }
    return lt_add(sum, total * p->input_zero);
}

/* A row of the window of which some columns are padding. */
LT_APART static int32_t dot_edge(const lt_w9_s8 *p, const int8_t *row, int32_t first, const int16_t *w,
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

/* The sum of a window that begins in column `first`, some of which may be padding. */
static int32_t window_edge(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t first)
{
    int32_t sum = of->bias, run = p->kernel_w * p->in_c;
    const int16_t *w = of->w;
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++, w += run) {
        sum = (*rows == NULL) ? padding(p, w, run, sum) : dot_edge(p, *rows, first, w, sum);
    }
    return sum;
}

/* The same of a depthwise convolution. */
static int32_t taps_edge(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t first)
{
    int32_t sum = of->bias;
    const int16_t *w = of->w;
    for (int32_t ky = p->kernel_h; ky > 0; ky--) {
        const int8_t *row = *rows++;
        int32_t column = first;
        for (int32_t kx = p->kernel_w; kx > 0; kx--, column += p->dilation_w) {
            int32_t inside = (row != NULL) && (column >= 0) && (column < p->in_w);
            sum = lt_add(sum, (inside ? row[(column * p->in_c) + of->in] : p->input_zero) * *w++);
        }
    }
    return sum;
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

/* The same of a depthwise convolution of three times three, whose rows are all there. */
LT_APART static void run_3x3(const lt_w9_s8 *p, const channel *of, const void *const *rows, int32_t at,
                    int32_t left, int8_t *out)
{
    scaling s = scaling_of(p, of);
    int32_t pitch = p->dilation_w * p->in_c, step = p->stride_w * p->in_c, out_c = p->out_c;
    const int8_t *a = (const int8_t *)rows[0] + at, *b = (const int8_t *)rows[1] + at;
    const int8_t *c = (const int8_t *)rows[2] + at;
    const int16_t *w = of->w;
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7];
    const int32_t w8 = w[8], bias = of->bias;
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
    int32_t quick = (three || ((p->filters == 0) && (p->dilation_w == 1))) && (reach >= 0);
    for (int32_t ky = 0; three && (ky < 3); ky++) {
        quick = quick && (step->in[ky] != NULL);
    }
    if (quick != 0) {
        end = (reach / p->stride_w) + 1;
        end = (end < p->out_w) ? end : p->out_w;
        first = (p->pad_left + p->stride_w - 1) / p->stride_w;
        first = (first < end) ? first : end;
        int32_t at = (((first * p->stride_w) - p->pad_left) * p->in_c) + of->in;
        (three ? run_3x3 : run_windows)(p, of, step->in, at, end - first, out + (first * p->out_c));
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
    p->run(p->params, step);
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
