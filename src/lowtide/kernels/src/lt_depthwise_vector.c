/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_vector.c: see lt_depthwise_vector.h. The parts that lt_depthwise_vector_helium.c has in
 * vectors are here in plain C, too: they say what those do, and stand in for them on other cores. */
#include "lt_depthwise_vector.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

/* Whether windows are made two at once, where they may. */
static inline int32_t by_two(const lt_depthwise_vector_s8 *p)
{
    int32_t three = (p->kernel_h == 3) && (p->kernel_w == 3), wide = (p->kernel_w == 5) || (p->kernel_w == 7);
    int32_t near = (p->dilation_w == 1) && (p->stride_w < 3) && (p->kernel_h <= LT_TAPS_ROWS);
    return near && (three || wide);
}

/* The quickest for two windows; null if these are made one by one. */
static void (*two_of(const lt_taps *of))(const lt_taps *)
{
    static void (*const three[2][3])(const lt_taps *) = {
        {lt_taps_1, lt_taps_1_first, lt_taps_1_last},
        {lt_taps_2, lt_taps_2_first, lt_taps_2_last},
    };
    int32_t after = of->kernel_w + of->stride - of->to, cut = of->from + after;
    if (of->other == 0) {
        return NULL;
    }
    if (of->kernel_w != 3) {
        return (cut == 0) ? lt_taps_wide : NULL;
    }
    return ((cut < 2) && (of->rows[1] != NULL)) ? three[of->stride - 1][of->from + (2 * after)] : NULL;
}

/* Columns x to `end` - 1, one by one. */
LT_APART static void run_ones(const lt_depthwise_vector_s8 *p, const lt_step *step, int32_t x, int32_t end,
                              void (*run)(const lt_one *))
{
    int32_t channels = p->channels, dilation = p->dilation_w, width = p->kernel_w;
    lt_one of = {step->in, p->records, (int8_t *)step->out[0] + (x * channels), 0, dilation * channels, channels,
                 p->kernel_h, 0, 0, 0, p->input_zero, p->output_zero, p->low, p->high};
    for (int32_t first = (x * p->stride_w) - p->pad_left; x < end; x++, first += p->stride_w, of.out += channels) {
        int32_t to = p->in_w - first;
        of.before = (first < 0) ? ((dilation - 1 - first) / dilation) : 0;
        to = (to > 0) ? ((to + dilation - 1) / dilation) : 0;
        to = (to < width) ? to : width;
        of.before = (of.before < to) ? of.before : to;
        of.inside = to - of.before;
        of.after = width - to;
        of.offset = (first + (of.before * dilation)) * channels;
        run(&of);
    }
}

/* The last four channels, of which some are made. */
LT_APART static void run_rest(const lt_taps *all, void (*run)(const lt_taps *))
{
    lt_taps of = *all;
    int32_t at = of.pitch - 4;
    for (int32_t ky = 0; ky < of.kernel_h; ky++) {
        of.rows[ky] = of.rows[ky] == NULL ? NULL : of.rows[ky] + at;
    }
    of.records += of.groups * (of.kernel_h * of.kernel_w + 12);
    of.out += at;
    of.groups = 1;
    run(&of);
}

LT_APART static void tall_rest(const lt_tall *all, int32_t at)
{
    lt_tall of = *all;
    of.records += of.groups * (of.kernel_h + 12);
    of.out += at;
    of.offset += at;
    of.groups = 1;
    lt_taps_tall(&of);
}

/* Pixels one by one: a column of padding is one whose rows are. */
LT_INLINE void tall(const lt_depthwise_vector_s8 *p, const lt_step *step, int32_t rest)
{
    lt_tall of = {step->in, p->records, step->out[0], 0, p->channels >> 2, p->output_zero, p->low, p->high,
                  p->input_zero, p->kernel_h, 0};
    for (int32_t x = 0, column = -p->pad_left; x < p->out_w; x++, column += p->stride_w) {
        of.inside = (column >= 0) && (column < p->in_w);
        of.offset = column * p->channels;
        lt_taps_tall(&of);
        if (rest != 0) {
            tall_rest(&of, p->channels - 4);
        }
        of.out += p->channels;
    }
}

LT_INLINE void run_row(const lt_depthwise_vector_s8 *p, const lt_step *step, int32_t rest)
{
    int32_t channels = p->channels, columns = p->kernel_w + p->stride_w;
    lt_taps of = {{NULL}, p->records, NULL, channels, (p->out_w > 1) ? channels : 0, channels >> 2,
                  p->output_zero, p->low, p->high, p->input_zero, p->kernel_h, p->kernel_w,
                  p->stride_w, 0, 0, 0};
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * channels);
    if (p->kernel_w == 1) {
        tall(p, step, rest);
        return;
    }
    if (!by_two(p)) {
        run_ones(p, step, 0, p->out_w, lt_taps_one);
        return;
    }
    for (int32_t x = 0; x < p->out_w; x += 2) {
        int32_t at = (((x + 1) < p->out_w) || (x == 0)) ? x : (x - 1), first = (at * p->stride_w) - p->pad_left;
        of.again = at < x;
        of.from = (first < 0) ? -first : 0;
        of.to = ((p->in_w - first) < columns) ? (p->in_w - first) : columns;
        of.out = (int8_t *)step->out[0] + (at * channels);
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            const int8_t *row = step->in[ky];
            of.rows[ky] = (row == NULL) ? NULL : (row + ((first + of.from) * channels));
        }
        void (*run)(const lt_taps *) = two_of(&of);
        if (run == NULL) {
            run_ones(p, step, x, ((x + 2) < p->out_w) ? (x + 2) : p->out_w, lt_taps_one);
            continue;
        }
        run(&of);
        if (rest != 0) {
            run_rest(&of, run);
        }
    }
}

LT_SHARED void lt_depthwise_vector_s8_row(const void *params, const lt_step *step)
{
    run_row(params, step, 0);
}

LT_SHARED void lt_depthwise_vector_s8_rest(const void *params, const lt_step *step)
{
    run_row(params, step, 1);
}

LT_SHARED void lt_depthwise_vector_s8_any(const void *params, const lt_step *step)
{
    const lt_depthwise_vector_s8 *p = params;
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * p->channels);
    run_ones(p, step, 0, p->out_w, lt_taps_one_any);
}

#ifndef LT_HELIUM

/* Channel c of four, of the pixel whose window begins in column `first` of those that are read. */
static int8_t channel(const lt_taps *of, const int32_t *record, int32_t first, int32_t c)
{
    const int8_t *w = (const int8_t *)record + (c & 3);
    const int32_t *scale = record + (of->kernel_h * of->kernel_w) + (c & 3);
    int32_t sum = scale[0], shift = -1 - scale[8];
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        for (int32_t x = first; x < (first + of->kernel_w); x++, w += 4) {
            int32_t inside = (of->rows[ky] != NULL) && (x >= of->from) && (x < of->to);
            sum += *w * (inside ? of->rows[ky][((x - of->from) * of->pitch) + c] : of->padding);
        }
    }
    sum = lt_narrow(lt_add(sum, sum), scale[4], lt_centre((2 * of->zero) + 1, shift), shift);
    return (int8_t)lt_clamp(sum, of->low, of->high);
}

LT_SHARED void lt_taps_wide(const lt_taps *of)
{
    const int32_t *record = of->records;
    for (int32_t c = 0; c < (4 * of->groups); c++) {
        of->out[of->other + c] = channel(of, record, of->stride, c);
        of->out[c] = channel(of, record, 0, c);
        record += ((c & 3) == 3) ? ((of->kernel_h * of->kernel_w) + 12) : 0;
    }
}

LT_SHARED void lt_taps_tall(const lt_tall *of)
{
    for (int32_t c = 0; c < (4 * of->groups); c++) {
        const int32_t *record = of->records + (c >> 2) * (of->kernel_h + 12);
        const int8_t *w = (const int8_t *)record + (c & 3);
        const int32_t *scale = record + of->kernel_h + (c & 3);
        int32_t sum = scale[0], shift = -1 - scale[8];
        for (int32_t ky = 0; ky < of->kernel_h; ky++, w += 4) {
            const int8_t *x = of->inside ? of->rows[ky] : NULL;
            sum += *w * ((x != NULL) ? x[of->offset + c] : of->padding);
        }
        sum = lt_narrow(lt_add(sum, sum), scale[4], lt_centre((2 * of->zero) + 1, shift), shift);
        of->out[c] = (int8_t)lt_clamp(sum, of->low, of->high);
    }
}

LT_SHARED void lt_taps_one(const lt_one *of)
{
    lt_taps_one_any(of);
}

LT_SHARED void lt_taps_one_any(const lt_one *of)
{
    int32_t width = of->before + of->inside + of->after, words = (of->kernel_h * width) + 12;
    for (int32_t c = 0; c < of->channels; c++) {
        int32_t lane = ((c & ~3) > (of->channels - 4)) ? (c - of->channels + 4) : (c & 3); /* of the last four */
        const int32_t *record = of->records + ((c >> 2) * words);
        const int8_t *w = (const int8_t *)record + lane;
        const int32_t *scale = record + words - 12 + lane;
        int32_t sum = scale[0];
        for (int32_t ky = 0; ky < of->kernel_h; ky++) {
            const int8_t *x = of->rows[ky];
            for (int32_t k = -of->before; k < (of->inside + of->after); k++, w += 4) {
                int32_t inside = (x != NULL) && (k >= 0) && (k < of->inside);
                sum += *w * (inside ? x[of->offset + (k * of->next) + c] : of->padding);
            }
        }
        sum = lt_add(lt_scale(sum, scale[4], scale[8]), of->zero);
        of->out[c] = (int8_t)lt_clamp(sum, of->low, of->high);
    }
}

#define LT_THREE(name)                     \
    LT_SHARED void name(const lt_taps *of) \
    {                                      \
        lt_taps_wide(of);                  \
    }

LT_THREE(lt_taps_1)
LT_THREE(lt_taps_1_first)
LT_THREE(lt_taps_1_last)
LT_THREE(lt_taps_2)
LT_THREE(lt_taps_2_first)
LT_THREE(lt_taps_2_last)

#endif
