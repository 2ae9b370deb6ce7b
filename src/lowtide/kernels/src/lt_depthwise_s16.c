/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16.c: see lt_depthwise_s16.h. */
#include "lt_depthwise_s16.h"

#include <stddef.h>

#include "lt_fixed.h"

enum { MOST = 508 }; /* products that fit 32 bits */

/* Which columns of the window that begins in column `first` are none of padding: from *from to *to - 1. */
static void columns_of(const lt_depthwise_s16 *p, int32_t first, int32_t *from, int32_t *to)
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

/* One output channel's sum at such a window, of at most MOST pixels; `at` is where the first column begins in a
 * row. */
static inline int32_t window(const void *const *rows, const void *const *end, int32_t at, int32_t columns,
                             int32_t next, const int8_t *weight, int32_t channels, int32_t line)
{
    int32_t sum = 0;
    for (; rows != end; rows++, weight += line) {
        if (*rows != NULL) {
            const int16_t *x = (const int16_t *)*rows + at;
            const int8_t *w = weight;
            for (int32_t n = columns; n > 0; n--, x += next, w += channels) {
                sum += *x * *w;
            }
        }
    }
    return sum;
}

/* The same of larger ones. */
LT_APART static int64_t long_window(const lt_depthwise_s16 *p, const void *const *rows, int32_t at, int32_t columns,
                                    const int8_t *weight)
{
    int32_t channels = p->in_c * p->filters, next = p->dilation_w * p->in_c, line = p->kernel_w * channels;
    int64_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, weight += line) {
        const int16_t *x = rows[ky];
        for (int32_t k = 0; (x != NULL) && (k < columns); k++) {
            sum += (int32_t)(x[at + (k * next)] * weight[k * channels]);
        }
    }
    return sum;
}

static inline int16_t result(const lt_depthwise_s16 *p, int32_t c, int64_t sum)
{
    int32_t y;
    if (p->shift == NULL) {
        y = lt_high_s16((int32_t)(sum + p->start[c]), p->factor[c], 0);
    } else {
        y = lt_scale_wide(sum + p->bias[c], p->factor[c], p->shift[c]);
    }
    return (int16_t)lt_clamp(y, p->low, p->high);
}

/* All channels of the window that begins in column `first`, four by four. The last four may have channels
 * that were made before. */
static void make_fours(const lt_depthwise_s16 *p, const void *const *rows, int32_t first, int16_t *out)
{
    int32_t from, to;
    columns_of(p, first, &from, &to);
    for (int32_t c = 0; c < p->in_c; c += 4) {
        int32_t sums[4] = {0, 0, 0, 0};
        if (c > (p->in_c - 4)) {
            c = p->in_c - 4;
        }
        lt_depthwise_s16_four(p, rows, first, from, to, c, sums);
        for (int32_t i = 0; i < 4; i++) {
            out[c + i] = result(p, c + i, sums[i]);
        }
    }
}

/* The same one by one. */
static void make_each(const lt_depthwise_s16 *p, const void *const *rows, int32_t first, int16_t *out)
{
    int32_t from, to;
    columns_of(p, first, &from, &to);
    int32_t at = (first + (from * p->dilation_w)) * p->in_c, columns = to - from;
    int32_t channels = p->in_c * p->filters, next = p->dilation_w * p->in_c, line = p->kernel_w * channels;
    int32_t is_long = (p->kernel_h * p->kernel_w) > MOST;
    const void *const *last = rows + p->kernel_h;
    const int8_t *weights = p->weights + (from * channels);
    for (int32_t in = 0, c = 0; in < p->in_c; in++, at++) {
        for (int32_t end = c + p->filters; c < end; c++) {
            const int8_t *w = weights + c;
            *out++ = is_long ? result(p, c, long_window(p, rows, at, columns, w))
                             : result(p, c, window(rows, last, at, columns, next, w, channels, line));
        }
    }
}

LT_SHARED void lt_depthwise_s16_row(const void *params, const lt_step *step)
{
    const lt_depthwise_s16 *p = params;
    int16_t *out = step->out[0];
    int32_t by_fours = (p->filters == 1) && (p->in_c >= 4) && ((p->kernel_h * p->kernel_w) <= MOST);
    for (int32_t x = 0; x < p->out_w; x++) {
        int32_t first = (x * p->stride_w) - p->pad_left;
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->filters);
        if (by_fours != 0) {
            make_fours(p, step->in, first, out);
            out += p->in_c;
            continue;
        }
        make_each(p, step->in, first, out);
        out += p->in_c * p->filters;
    }
}

#ifndef LT_DSP

LT_SHARED void lt_depthwise_s16_four(const lt_depthwise_s16 *p, const void *const *rows, int32_t first,
                                     int32_t from, int32_t to, int32_t c, int32_t *sums)
{
    int32_t channels = p->in_c, step = p->dilation_w * channels;
    const int8_t *weights = p->weights + c;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, weights += p->kernel_w * channels) {
        const int16_t *row = rows[ky];
        if ((row == NULL) || (from >= to)) {
            continue;
        }
        const int16_t *x = row + ((first + (from * p->dilation_w)) * channels) + c;
        const int8_t *w = weights + (from * channels);
        for (int32_t left = to - from; left > 0; left--, x += step, w += channels) {
            for (int32_t i = 0; i < 4; i++) {
                sums[i] += x[i] * w[i];
            }
        }
    }
}

#endif
