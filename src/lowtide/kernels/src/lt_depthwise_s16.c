/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16.c: see lt_depthwise_s16.h. */
#include "lt_depthwise_s16.h"

#include <stddef.h>

#include "lt_fixed.h"

/* One output channel's sum at the window that begins in column `first`. */
static int64_t window(const lt_depthwise_s16 *p, const void *const *rows, int32_t first, int32_t in,
                      const int8_t *weight)
{
    int64_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int16_t *row = rows[ky];
        int32_t column = first;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            if ((row != NULL) && (column >= 0) && (column < p->in_w)) {
                sum += (int32_t)(row[(column * p->in_c) + in] * *weight);
            }
            weight += p->in_c * p->filters;
            column += p->dilation_w;
        }
    }
    return sum;
}

static int16_t result(const lt_depthwise_s16 *p, int32_t c, int64_t sum)
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
    int32_t from = 0, to = p->kernel_w;
    while ((from < to) && ((first + (from * p->dilation_w)) < 0)) {
        from++;
    }
    while ((from < to) && ((first + ((to - 1) * p->dilation_w)) >= p->in_w)) {
        to--;
    }
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

LT_SHARED void lt_depthwise_s16_row(const void *params, const lt_step *step)
{
    const lt_depthwise_s16 *p = params;
    int16_t *out = step->out[0];
    int32_t by_fours = (p->filters == 1) && (p->in_c >= 4) && ((p->kernel_h * p->kernel_w) <= 508);
    for (int32_t x = 0; x < p->out_w; x++) {
        int32_t first = (x * p->stride_w) - p->pad_left;
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->filters);
        if (by_fours != 0) {
            make_fours(p, step->in, first, out);
            out += p->in_c;
            continue;
        }
        for (int32_t in = 0, c = 0; in < p->in_c; in++) {
            for (int32_t end = c + p->filters; c < end; c++) {
                *out++ = result(p, c, window(p, step->in, first, in, p->weights + c));
            }
        }
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
