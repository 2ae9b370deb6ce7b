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

/* Where the weights of a row of the kernel begin to be those of the next, and of a column. */
static inline int32_t tap_of(const lt_transpose_conv_2x2_s16 *p)
{
    return (p->in_c + 3) & ~3;
}

static int16_t result(const lt_transpose_conv_2x2_s16 *p, int32_t sum, int32_t c)
{
    return (int16_t)lt_high_s16((int32_t)((uint32_t)sum << p->left), p->factor[c], 0);
}

/* All output channels of columns x and x + stride_w, to which no padding adds. A single channel is made twice. */
LT_APART static void make_pairs(const lt_transpose_conv_2x2_s16 *p, const lt_step *step, const reach *at,
                       int16_t *out)
{
    int32_t in_c = p->in_c, tap = tap_of(p), line = p->kernel_w * tap, fours = in_c >> 2, rest = in_c & 3;
    int32_t second = p->out_c > 1, channel = second ? (p->kernel_h * line) : 0;
    int16_t *next = out + (p->stride_w * p->out_c);
    for (int32_t c = 0; c < p->out_c; c += 2) {
        if (second && (c == (p->out_c - 1))) {
            c--; /* one that was made before, and the last */
        }
        int32_t one = p->start[c], other = p->start[c + second];
        int32_t sums[4] = {one, other, one, other}, back = 0;
        const int8_t *weights = p->weights + (c * p->kernel_h * line);
        for (int32_t ky = at->ky; ky < p->kernel_h; ky += p->stride_h, back++) {
            const int16_t *x = row_of(p, step, back);
            if (x == NULL) {
                continue;
            }
            int32_t column = at->column;
            x += column * in_c;
            for (int32_t kx = at->kx; kx < p->kernel_w; kx += p->stride_w, x -= in_c, column--) {
                const int8_t *w = weights + (ky * line) + (kx * tap);
                /* weights beyond the last are 0 */
                if ((rest == 0) || ((((column + 1) * in_c) + tap) <= (p->in_w * in_c))) {
                    lt_2x2_pair(sums, w, channel, x, in_c, tap >> 2);
                    continue;
                }
                int16_t last[8];
                lt_2x2_fill(last, 0, x + (4 * fours), rest);
                lt_2x2_fill(last + 4, 0, x + in_c + (4 * fours), rest);
                lt_2x2_pair(sums, w, channel, x, in_c, fours);
                lt_2x2_pair(sums, w + (4 * fours), channel, last, 4, 1);
            }
        }
        out[c] = result(p, sums[0], c);
        out[c + second] = result(p, sums[1], c + second);
        next[c] = result(p, sums[2], c);
        next[c + second] = result(p, sums[3], c + second);
    }
}

/* All output channels of column x. */
LT_APART static void make_singles(const lt_transpose_conv_2x2_s16 *p, const lt_step *step, const reach *at,
                         int16_t *out)
{
    int32_t in_c = p->in_c, tap = tap_of(p), line = p->kernel_w * tap, fours = in_c >> 2, rest = in_c & 3;
    lt_four to = lt_four_of(p->out_c, p->kernel_h * line);
    for (int32_t i = 0; i < p->out_c; i += 4) {
        int32_t c = lt_four_first(i, p->out_c);
        int32_t sums[4] = {0, 0, 0, 0}, back = 0;
        const int8_t *weights = p->weights + (c * p->kernel_h * line);
        for (int32_t k = 0; k < 4; k++) {
            sums[k] = p->start[c + to.of[k]];
        }
        for (int32_t ky = at->ky; ky < p->kernel_h; ky += p->stride_h, back++) {
            const int16_t *row = row_of(p, step, back);
            int32_t column = at->column;
            for (int32_t kx = at->kx; (row != NULL) && (kx < p->kernel_w); kx += p->stride_w, column--) {
                if ((column < 0) || (column >= p->in_w)) {
                    continue;
                }
                const int8_t *w = weights + (ky * line) + (kx * tap);
                const int16_t *x = row + (column * in_c);
                lt_2x2_single(sums, w, to.next, x, fours, to.other);
                if (rest > 0) {
                    int16_t last[4];
                    lt_2x2_fill(last, 0, x + (4 * fours), rest);
                    lt_2x2_single(sums, w + (4 * fours), to.next, last, 1, to.other);
                }
            }
        }
        for (int32_t k = 0; k < 4; k++) {
            if (lt_four_is_new(&to, k) != 0) {
                out[c + to.of[k]] = result(p, sums[k], c + to.of[k]);
            }
        }
    }
}

LT_SHARED void lt_transpose_conv_2x2_s16_row(const void *params, const lt_step *step)
{
    const lt_transpose_conv_2x2_s16 *p = params;
    int16_t *out = step->out[0];
    for (int32_t phase = 0; (phase < p->stride_w) && (phase < p->out_w); phase++) {
        int32_t first = phase + p->pad_left;
        reach at = {(step->row + p->pad_top) % p->stride_h, first % p->stride_w, first / p->stride_w};
        int32_t taps = (p->kernel_w - at.kx + p->stride_w - 1) / p->stride_w;
        for (int32_t x = phase, pixels; x < p->out_w; x += pixels * p->stride_w, at.column += pixels) {
            pixels = 1;
            if (((x + p->stride_w) < p->out_w) && ((at.column + 1) < p->in_w) &&
                (at.column >= (taps - 1))) {
                pixels = 2;
                make_pairs(p, step, &at, out + (x * p->out_c));
            } else {
                make_singles(p, step, &at, out + (x * p->out_c));
            }
        }
    }
    if ((p->low > INT16_MIN) || (p->high < INT16_MAX)) {
        for (int32_t i = 0; i < (p->out_w * p->out_c); i++) {
            out[i] = (int16_t)lt_clamp(out[i], p->low, p->high);
        }
    }
}
