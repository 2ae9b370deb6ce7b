/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_lanes.c: see lt_conv_lanes.h. The parts that lt_conv_lanes_helium.c has in vectors are here in plain
 * C, too: they say what those do, and stand in for them on other cores. */
#include "lt_conv_lanes.h"

#include <stddef.h>

#include "lt_fixed.h"

enum { FITTING = 504 }; /* so many products fit 32 bits, whatever they are; whole eights */

/* Add the products of n values of each row; to sums of 64 bits, if there are any, by parts that fit 32. */
static void add(const lt_conv_lanes_s16 *p, lt_lanes *of, const void *const *rows, int32_t n, int64_t *whole)
{
    of->rows = rows;
    of->kernel_h = p->kernel_h;
    of->n = n;
    if (whole == NULL) {
        lt_lanes_add(of);
        return;
    }
    lt_lanes part = *of;
    part.kernel_h = 1;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, part.rows++) {
        for (int32_t at = 0; at < n; at += FITTING) {
            part.n = ((n - at) < FITTING) ? (n - at) : FITTING;
            part.w = of->w + (ky * of->line) + at;
            part.offset = of->offset + (2 * at);
            for (int32_t i = 0; i < 4; i++) {
                part.sums[i] = 0;
            }
            lt_lanes_add(&part);
            for (int32_t i = 0; i < 4; i++) {
                whole[i] += part.sums[i];
            }
        }
    }
}

/* Channels c to c + 3 of the pixel whose window begins in column `first`; of less, the last one again. */
static void make_four(const lt_conv_lanes_s16 *p, const void *const *rows, int32_t first, int32_t c, lt_lanes *of,
                      int16_t *out)
{
    int32_t many = (p->dilation_w == 1) ? p->kernel_w : 1, last = p->out_c - 1; /* columns side by side */
    const int8_t *weights = p->weights + (c * p->kernel_h * of->line);
    int64_t whole[4];
    for (int32_t i = 0; i < 4; i++) {
        if (p->bias != NULL) {
            whole[i] = p->bias[((c + i) < last) ? (c + i) : last];
        } else {
            of->sums[i] = p->start[c + i];
        }
    }
    for (int32_t kx = 0; kx < p->kernel_w; kx += many) {
        int32_t column = first + (kx * p->dilation_w);
        int32_t from = (column < 0) ? -column : 0;
        int32_t to = ((column + many) > p->in_w) ? (p->in_w - column) : many;
        if (from < to) {
            of->w = weights + (kx + from) * p->in_c;
            of->offset = 2 * (column + from) * p->in_c;
            add(p, of, rows, (to - from) * p->in_c, (p->bias != NULL) ? whole : NULL);
        }
    }
    if (p->shift == NULL) {
        lt_lanes_put(p, of->sums, c, out);
        return;
    }
    for (int32_t i = 0; (i < 4) && ((c + i) <= last); i++) {
        int32_t y = (p->bias != NULL) ? lt_scale_wide(whole[i], p->factor[c + i], p->shift[c + i])
                                    : lt_scale(of->sums[i], p->factor[c + i], p->shift[c + i]);
        out[c + i] = (int16_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
    }
}

LT_SHARED void lt_conv_lanes_s16_row(const void *params, const lt_step *step)
{
    const lt_conv_lanes_s16 *p = params;
    int16_t *out = step->out[0];
    int32_t line = p->kernel_w * p->in_c, channel = p->kernel_h * line, out_c = p->out_c;
    int32_t one = (out_c > 1) ? channel : 0, two = (out_c > 2) ? (2 * channel) : one;
    int32_t three = (out_c > 3) ? (3 * channel) : two;
    lt_lanes of = {NULL, three, one, two, NULL, line, 0, 0, 0, {0, 0, 0, 0}};
    LT_MACS(p->out_w * channel * out_c);
    for (int32_t x = 0, first = -p->pad_left; x < p->out_w; x++, first += p->stride_w, out += out_c) {
        for (int32_t c = 0; c < out_c; c += 4) { /* the last four may have channels that were made before */
            make_four(p, step->in, first, ((c > (out_c - 4)) && (out_c > 4)) ? (out_c - 4) : c, &of, out);
        }
    }
}

#ifndef LT_HELIUM

LT_SHARED void lt_lanes_add(lt_lanes *of)
{
    const int32_t lanes[4] = {0, of->one, of->two, of->three};
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        const int8_t *row = of->rows[ky], *w = of->w + (ky * of->line);
        for (int32_t i = 0; (i < 4) && (row != NULL); i++) {
            const int16_t *x = (const int16_t *)(const void *)(row + of->offset);
            for (int32_t k = 0; k < of->n; k++) {
                of->sums[i] = lt_add(of->sums[i], x[k] * w[lanes[i] + k]);
            }
        }
    }
}

LT_SHARED void lt_lanes_put(const lt_conv_lanes_s16 *p, const int32_t *sums, int32_t c, int16_t *out)
{
    for (int32_t i = 0; (i < 4) && ((c + i) < p->out_c); i++) {
        int32_t sum = (int32_t)((uint32_t)sums[i] << p->left);
        out[c + i] = (int16_t)lt_clamp(lt_high_s16(sum, p->factor[c + i], p->output_zero), p->low, p->high);
    }
}

#endif
