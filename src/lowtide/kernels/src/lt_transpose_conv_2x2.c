/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv_2x2.c: see lt_transpose_conv_2x2.h. */
#include "lt_transpose_conv_2x2.h"

#include <stddef.h>

#include "lt_conv_2x2.h"
#include "lt_fixed.h"

/* What reaches an output row and a column of it: rows of the kernel from ky on, every stride_h, from the
 * last input row back; columns of the kernel from kx on, every stride_w, from input column `column` back. */
typedef struct {
    int32_t ky, kx, column;
} reach;

/* The input row `back` rows before the last one that reaches the output row; null if it is none. */
static inline const int16_t *row_of(const lt_transpose_conv_2x2_s16 *p, const lt_step *step, int32_t back)
{
    return step->in[p->rows - 1 - back];
}

/* All output channels, at least two, of columns x and x + stride_w, to which no padding adds. */
static void make_pairs(const lt_transpose_conv_2x2_s16 *p, const lt_step *step, const reach *at,
                       int16_t *out)
{
    int32_t in_c = p->in_c, line = p->kernel_w * in_c, channel = p->kernel_h * line;
    int16_t *next = out + p->stride_w * p->out_c;
    for (int32_t c = 0; c < p->out_c; c += 2) {
        if (c == p->out_c - 1) {
            c--; /* one that was made before, and the last */
        }
        const int32_t *start = p->start + c, *factor = p->factor + c;
        int32_t sums[4] = {start[0], start[1], start[0], start[1]}, back = 0;
        const int8_t *weights = p->weights + c * channel;
        for (int32_t ky = at->ky; ky < p->kernel_h; ky += p->stride_h, back++) {
            const int16_t *x = row_of(p, step, back);
            if (x == NULL) {
                continue;
            }
            x += at->column * in_c;
            for (int32_t kx = at->kx; kx < p->kernel_w; kx += p->stride_w, x -= in_c) {
                lt_2x2_pair(sums, weights + ky * line + kx * in_c, channel, x, in_c, in_c >> 2);
            }
        }
        out[c] = (int16_t)lt_high_s16(sums[0], factor[0], 0);
        out[c + 1] = (int16_t)lt_high_s16(sums[1], factor[1], 0);
        next[c] = (int16_t)lt_high_s16(sums[2], factor[0], 0);
        next[c + 1] = (int16_t)lt_high_s16(sums[3], factor[1], 0);
    }
}

/* All output channels of column x. */
static void make_singles(const lt_transpose_conv_2x2_s16 *p, const lt_step *step, const reach *at,
                         int16_t *out)
{
    int32_t in_c = p->in_c, line = p->kernel_w * in_c, channel = p->kernel_h * line;
    int32_t all = p->out_c < 4 ? 1 : 4;
    for (int32_t c = 0; c < p->out_c; c += all) {
        if (c > p->out_c - all) {
            c = p->out_c - all; /* some that were made before, and the last */
        }
        int32_t sums[4] = {0, 0, 0, 0}, back = 0;
        const int8_t *weights = p->weights + c * channel;
        for (int32_t i = 0; i < all; i++) {
            sums[i] = p->start[c + i];
        }
        for (int32_t ky = at->ky; ky < p->kernel_h; ky += p->stride_h, back++) {
            const int16_t *row = row_of(p, step, back);
            int32_t column = at->column;
            for (int32_t kx = at->kx; row != NULL && kx < p->kernel_w; kx += p->stride_w, column--) {
                if (column >= 0 && column < p->in_w) {
                    lt_2x2_single(sums, weights + ky * line + kx * in_c, all == 1 ? 0 : channel,
                                   row + column * in_c, in_c >> 2);
                }
            }
        }
        for (int32_t i = 0; i < all; i++) {
            out[c + i] = (int16_t)lt_high_s16(sums[i], p->factor[c + i], 0);
        }
    }
}

LT_SHARED void lt_transpose_conv_2x2_s16_row(const void *params, const lt_step *step)
{
    const lt_transpose_conv_2x2_s16 *p = params;
    int16_t *out = step->out[0];
    for (int32_t phase = 0; phase < p->stride_w && phase < p->out_w; phase++) {
        int32_t first = phase + p->pad_left;
        reach at = {(step->row + p->pad_top) % p->stride_h, first % p->stride_w, first / p->stride_w};
        int32_t taps = (p->kernel_w - at.kx + p->stride_w - 1) / p->stride_w;
        for (int32_t x = phase, pixels; x < p->out_w; x += pixels * p->stride_w, at.column += pixels) {
            pixels = 1;
            if (p->out_c > 1 && x + p->stride_w < p->out_w && at.column + 1 < p->in_w &&
                at.column >= taps - 1) {
                pixels = 2;
                make_pairs(p, step, &at, out + x * p->out_c);
            } else {
                make_singles(p, step, &at, out + x * p->out_c);
            }
        }
    }
    if (p->low > INT16_MIN || p->high < INT16_MAX) {
        for (int32_t i = 0; i < p->out_w * p->out_c; i++) {
            out[i] = (int16_t)lt_clamp(out[i], p->low, p->high);
        }
    }
}
