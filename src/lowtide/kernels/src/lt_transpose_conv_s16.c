/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv_s16.c: see lt_transpose_conv_s16.h. */
#include "lt_transpose_conv_s16.h"

#include <stddef.h>

#include "lt_conv_2x2.h"
#include "lt_fixed.h"

enum { FITTING = 508 }; /* so many products fit 32 bits, whatever they are; whole fours */

/* Four sums under way: `whole`, and what the last products add, as many as `room` says more may. */
typedef struct {
    int64_t whole[4];
    int32_t sums[4];
    int32_t room;
} four_sums;

static void settle(four_sums *t)
{
    for (int32_t i = 0; i < 4; i++) {
        t->whole[i] += t->sums[i];
        t->sums[i] = 0;
    }
    t->room = FITTING;
}

/* Add the products of a pixel of in_c channels, and of the weights w of four channels. */
static void add(four_sums *t, const int8_t *w, const lt_four *to, const int16_t *x, int32_t in_c)
{
    int32_t left = in_c & ~3, rest = in_c & 3;
    while (left > 0) {
        int32_t n = (left < t->room) ? left : t->room;
        lt_2x2_single(t->sums, w, to->next, x, n >> 2, to->other);
        w += n;
        x += n;
        left -= n;
        t->room -= n;
        if (t->room < 4) {
            settle(t);
        }
    }
    if (rest > 0) {
        int16_t last[4];
        lt_2x2_fill(last, 0, x, rest);
        lt_2x2_single(t->sums, w, to->next, last, 1, to->other);
        t->room -= 4;
        if (t->room < 4) {
            settle(t);
        }
    }
}

/* Four output channels from c on of column x. */
static void make_four(const lt_transpose_conv_s16 *p, const lt_step *step, int32_t x, int32_t c, const lt_four *to,
                      int16_t *out)
{
    int32_t tap = (p->in_c + 3) & ~3, line = p->kernel_w * tap, reach = x + p->pad_left;
    int32_t ky = (step->row + p->pad_top) % p->stride_h;
    const int8_t *weights = p->weights + (c * p->kernel_h * line);
    four_sums t = {{0, 0, 0, 0}, {0, 0, 0, 0}, FITTING};
    for (int32_t i = 0; i < 4; i++) {
        t.whole[i] = p->bias[c + to->of[i]];
    }
    for (int32_t k = p->rows - 1; (k >= 0) && (ky < p->kernel_h); k--, ky += p->stride_h) {
        const int16_t *row = step->in[k];
        int32_t column = reach / p->stride_w;
        for (int32_t kx = reach % p->stride_w; (row != NULL) && (kx < p->kernel_w); kx += p->stride_w, column--) {
            if ((column >= 0) && (column < p->in_w)) {
                add(&t, weights + (ky * line) + (kx * tap), to, row + (column * p->in_c), p->in_c);
            }
        }
    }
    settle(&t);
    for (int32_t i = 0; i < 4; i++) {
        if (lt_four_is_new(to, i) != 0) {
            int32_t at = c + to->of[i], y = lt_scale_wide(t.whole[i], p->multiplier[at], p->shift[at]);
            out[at] = (int16_t)lt_clamp(y, p->low, p->high);
        }
    }
}

LT_SHARED void lt_transpose_conv_s16_row(const void *params, const lt_step *step)
{
    const lt_transpose_conv_s16 *p = params;
    int16_t *out = step->out[0];
    lt_four to = lt_four_of(p->out_c, p->kernel_h * p->kernel_w * ((p->in_c + 3) & ~3));
    for (int32_t x = 0; x < p->out_w; x++, out += p->out_c) {
        for (int32_t c = 0; c < p->out_c; c += 4) {
            make_four(p, step, x, lt_four_first(c, p->out_c), &to, out);
        }
    }
}
