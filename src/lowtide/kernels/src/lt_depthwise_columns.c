/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_columns.c: see lt_depthwise_columns.h. The parts that lt_depthwise_columns_dsp.c has in
 * assembly are here in C, too: they say what those do, and stand in for them on other cores. */
#include "lt_depthwise_columns.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#define FOUR 4 /* channels, and words of a column and a pair of rows */
#define SCALES (FOUR + 1) /* words of them of four channels */
#define SCALES_ANY (4 * FOUR)

static int32_t smaller(int32_t a, int32_t b)
{
    return (a < b) ? a : b;
}

/* How often b goes into a, rounded up; a >= 0. */
static int32_t parts(int32_t a, int32_t b)
{
    return (b == 1) ? a : ((a + b - 1) / b);
}

/* The rows that are there, and the pairs of rows that these are in: from the first up to the end. All are
 * 0 where the whole window lies in padding. */
typedef struct {
    int32_t row, row_end, pair, pairs;
} rows_there;

LT_INLINE rows_there find_rows(const lt_depthwise_columns_s8 *p, const void *const *in)
{
    rows_there of = {0, p->kernel_h, 0, 0};
    for (; (of.row < of.row_end) && (in[of.row] == NULL); of.row++) {
    }
    if (of.row == of.row_end) {
        return (rows_there){0, 0, 0, 0};
    }
    for (; in[of.row_end - 1] == NULL; of.row_end--) {
    }
    of.pair = of.row / 2;
    of.pairs = ((of.row_end + 1) / 2) - of.pair;
    return of;
}

/* What is the same for all channels of a piece: columns `first` to `end` - 1 are read, those that a window
 * reads together in runs of `apart`; of each column and pair of rows there are `each` bytes. */
typedef struct {
    const lt_depthwise_columns_s8 *p;
    const void *const *in;
    const rows_there *rows;
    int32_t first, end, apart, each;
} columns_read;

/* Unpack four channels from `at` on, and their weights: weights first. */
LT_APART static void unpack(const columns_read *of, int32_t at, const int32_t *record, int32_t *weights)
{
    const lt_depthwise_columns_s8 *p = of->p;
    int32_t next = of->each, dilation = p->dilation_w, all = (p->kernel_h + 1) / 2;
    int32_t row = 2 * of->rows->pair;
    uint32_t low = (uint32_t)-p->input_zero;
    lt_columns_source from = {NULL, 0, dilation * p->channels, (int32_t)((low & 0xFFFFU) | (low << 16))};
    record += 2 * of->rows->pair;
    for (; row < of->rows->row_end; row += 2, weights += FOUR, record += 2) {
        const int8_t *upper = of->in[row], *lower = ((row + 1) < of->rows->row_end) ? of->in[row + 1] : upper;
        uint32_t mask = ((upper != NULL) ? 0xFFFFU : 0) | (((row + 1) < of->rows->row_end) ? 0xFFFF0000U : 0);
        int32_t *run = weights + (p->kernel_w * (next / (int32_t)sizeof *run));
        lt_columns_weights(weights, record, p->kernel_w, mask, 8 * all, next);
        upper = (upper != NULL) ? upper : lower;
        from.other = (intptr_t)lower - (intptr_t)upper;
        upper += (of->first * p->channels) + at;
        for (int32_t i = of->end - of->first; (i > (of->end - of->first - dilation)) && (i > 0); i--) {
            from.row = upper;
            lt_columns_unpack(&from, run, parts(i, dilation), next);
            run += of->apart * (next / (int32_t)sizeof *run);
            upper += p->channels;
        }
    }
}

/* List the windows of n outputs from x on; what they read begins with column `first`, `words` bytes from
 * where the weights are. */
LT_APART static void list_windows(const lt_depthwise_columns_s8 *p, int32_t x, int32_t n, int32_t each, int32_t first,
                         int32_t apart, int32_t words, lt_columns_window *to)
{
    int32_t dilation = p->dilation_w, column = (x * p->stride_w) - p->pad_left;
    for (; n > 0; n--, column += p->stride_w, to++) {
        int32_t from = (column < 0) ? parts(-column, dilation) : 0;
        int32_t end = (column < p->in_w) ? smaller(p->kernel_w, parts(p->in_w - column, dilation)) : 0;
        int32_t at = column + (from * dilation) - first;
        if (dilation > 1) {
            at = (at % dilation * apart) + (at / dilation);
        }
        to->x = words + ((end > from) ? (at * each) : 0);
        to->w = from * each;
        to->size = (end > from) ? ((end - from) * each) : 0;
    }
}

/* n outputs from x on, by `sum`, whose scales are so many words. */
LT_INLINE void piece_by(const lt_depthwise_columns_s8 *p, const rows_there *rows, const lt_step *step, int32_t x,
                        int32_t n, void (*sum)(const lt_columns_sums *), int32_t scales)
{
    int32_t first = (x * p->stride_w) - p->pad_left, channels = p->channels;
    int32_t end = smaller(p->in_w, first + (n - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1);
    lt_columns_window *windows = step->scratch;
    int32_t *weights = (int32_t *)(windows + n);
    const int32_t *record = p->records;
    columns_read of = {p, step->in, rows, (first < 0) ? 0 : first, end, 0, 0};
    lt_columns_sums sums = {windows, windows + n, NULL, NULL, p->centre, NULL, channels, weights};
    of.apart = (end > of.first) ? parts(end - of.first, p->dilation_w) : 0;
    of.each = FOUR * (int32_t)sizeof *weights * rows->pairs;
    list_windows(p, x, n, of.each, of.first, of.apart, p->kernel_w * of.each, windows);
    for (int32_t c = 0; c < channels; c += FOUR) {
        int32_t at = smaller(c, channels - FOUR);
        unpack(&of, at, record + FOUR, weights);
        sums.biases = record;
        sums.scales = record + FOUR + 2 * p->kernel_w * ((p->kernel_h + 1) / 2);
        sums.out = (int8_t *)step->out[0] + x * channels + at;
        sum(&sums);
        record = sums.scales + scales;
    }
}

LT_APART static void make_piece(const lt_depthwise_columns_s8 *p, const rows_there *rows, const lt_step *step,
                                int32_t x, int32_t n)
{
    piece_by(p, rows, step, x, n, lt_columns_sum, SCALES);
}

LT_APART static void make_piece_any(const lt_depthwise_columns_s8 *p, const rows_there *rows,
                                    const lt_step *step, int32_t x, int32_t n)
{
    piece_by(p, rows, step, x, n, lt_columns_sum_any, SCALES_ANY);
}

/* All outputs of windows of one column, by `tap`. */
LT_INLINE void taps_by(const lt_depthwise_columns_s8 *p, const rows_there *of, const lt_step *step,
                       const int32_t *(*tap)(const lt_columns_taps *))
{
    uint32_t low = (uint32_t)-p->input_zero;
    int32_t channels = p->channels, whole = channels & ~3, word = (int32_t)sizeof *p->records;
    lt_columns_taps taps = {NULL, 0, step->in + of->row, step->in + of->row_end, word * of->row,
                            word * (p->kernel_h - of->row_end), 0, (int32_t)((low & 0xFFFFU) | (low << 16)),
                            p->centre, step->out[0]};
    int32_t column = -p->pad_left;
    for (int32_t x = 0; x < p->out_w; x++, column += p->stride_w, taps.out += channels) {
        int32_t inside = (column >= 0) && (column < p->in_w);
        taps.records = p->records;
        taps.rows = inside ? (step->in + of->row) : taps.end;
        taps.before = inside ? (word * of->row) : (word * of->row_end);
        taps.at = column * channels;
        taps.last = taps.at + whole;
        taps.records = tap(&taps);
        if (whole != channels) {
            int32_t rest = channels - whole;
            taps.at = taps.last + rest - FOUR;
            taps.last += rest;
            taps.out += channels - FOUR;
            (void)tap(&taps);
            taps.out -= channels - FOUR;
        }
    }
}

LT_APART static void make_taps(const lt_depthwise_columns_s8 *p, const rows_there *of, const lt_step *step)
{
    taps_by(p, of, step, lt_columns_tap);
}

LT_APART static void make_taps_any(const lt_depthwise_columns_s8 *p, const rows_there *of, const lt_step *step)
{
    taps_by(p, of, step, lt_columns_tap_any);
}

LT_INLINE void run_row(const lt_depthwise_columns_s8 *p, const lt_step *step, int32_t any)
{
    rows_there of = find_rows(p, step->in);
    int8_t *out = step->out[0];
    if (p->kernel_w == 1) {
        (any ? make_taps_any : make_taps)(p, &of, step);
    } else {
        for (int32_t x = 0; x < p->out_w; x += p->piece) {
            (any ? make_piece_any : make_piece)(p, &of, step, x, smaller(p->piece, p->out_w - x));
        }
    }
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * p->channels);
    lt_clamp_row(out, out + (p->out_w * p->channels), p->low, p->high);
}

LT_SHARED void lt_depthwise_columns_s8_row(const void *params, const lt_step *step)
{
    run_row(params, step, 0);
}

LT_SHARED void lt_depthwise_columns_s8_any(const void *params, const lt_step *step)
{
    run_row(params, step, 1);
}

#ifndef LT_DSP

/* Bytes i and i + 2 of a word as halves. */
static int32_t halves(uint32_t word, int32_t i)
{
    uint32_t low = (uint32_t)(int8_t)(word >> (8 * i) & 0xFFU);
    uint32_t high = (uint32_t)(int8_t)((word >> ((8 * i) + 16)) & 0xFFU);
    return (int32_t)((low & 0xFFFFU) | (high << 16));
}

LT_SHARED void lt_columns_weights(int32_t *to, const int32_t *from, int32_t count, uint32_t mask,
                                  int32_t from_next, int32_t next)
{
    for (; count > 0; count--, from += from_next / (int32_t)sizeof *from, to += next / (int32_t)sizeof *to) {
        uint32_t even = (uint32_t)from[0] & mask, odd = (uint32_t)from[1] & mask;
        to[0] = halves(even, 0);
        to[1] = halves(even, 1);
        to[2] = halves(odd, 0);
        to[3] = halves(odd, 1);
    }
}

LT_SHARED void lt_columns_unpack(const lt_columns_source *from, int32_t *to, int32_t count, int32_t next)
{
    static const int8_t order[FOUR] = {0, 2, 1, 3};
    const int8_t *row = from->row;
    int32_t base = (int16_t)from->base;
    for (; count > 0; count--, row += from->pitch, to += next / (int32_t)sizeof *to) {
        for (int32_t i = 0; i < FOUR; i++) {
            uint32_t low = (uint32_t)(row[order[i]] + base);
            to[i] = (int32_t)((low & 0xFFFFU) | (uint32_t)(row[order[i] + from->other] + base) << 16);
        }
    }
}

/* Scale four sums. */
static void scale(const int32_t *sums, const int32_t *scales, int32_t odd, int8_t *out, int32_t any)
{
    for (int32_t i = 0; i < FOUR; i++) {
        if (any != 0) {
            const int32_t *each = scales + (4 * i);
            int32_t shifted = (int32_t)((uint32_t)sums[i] << (each[1] & 0xFF));
            int32_t broad = lt_broad(shifted, each[0], each[2], each[3], each[1] >> 8);
            out[i] = (int8_t)lt_clamp(broad, INT8_MIN, INT8_MAX);
            continue;
        }
        int32_t shift = (int32_t)((uint32_t)scales[FOUR] >> (8 * i) & 0xFFU);
        int32_t y = lt_narrow(lt_add(sums[i], sums[i]), scales[i], lt_centre(odd, shift), shift);
        out[i] = (int8_t)lt_clamp(y, INT8_MIN, INT8_MAX);
    }
}

static void sum_by(const lt_columns_sums *of, int32_t any)
{
    int8_t *out = of->out;
    for (const lt_columns_window *at = of->windows; at != of->end; at++, out += of->pitch) {
        int32_t sums[FOUR] = {of->biases[0], of->biases[1], of->biases[2], of->biases[3]};
        const int32_t *x = of->base + (at->x / (int32_t)sizeof *x);
        const int32_t *end = x + (at->size / (int32_t)sizeof *x);
        const int32_t *w = of->base + (at->w / (int32_t)sizeof *w);
        for (; x != end; x += FOUR, w += FOUR) {
            static const int8_t order[FOUR] = {0, 2, 1, 3};
            for (int32_t i = 0; i < FOUR; i++) {
                int32_t *sum = &sums[order[i]];
                *sum = lt_add(*sum, lt_add((int16_t)x[i] * (int16_t)w[i], (x[i] >> 16) * (w[i] >> 16)));
            }
        }
        scale(sums, of->scales, of->odd, out, any);
    }
}

LT_SHARED void lt_columns_sum(const lt_columns_sums *of)
{
    sum_by(of, 0);
}

LT_SHARED void lt_columns_sum_any(const lt_columns_sums *of)
{
    sum_by(of, 1);
}

static const int32_t *tap_by(const lt_columns_taps *of, int32_t any)
{
    const int32_t *record = of->records;
    int32_t base = (int16_t)of->base, words = (int32_t)sizeof *record;
    int8_t *out = of->out;
    for (intptr_t at = of->at; at != of->last; at += FOUR, out += FOUR) {
        int32_t sums[FOUR] = {record[0], record[1], record[2], record[3]};
        const int32_t *w = record + FOUR + (of->before / words);
        for (const void *const *row = of->rows; row != of->end; row++, w++) {
            const int8_t *x = (const int8_t *)*row + at;
            for (int32_t i = 0; i < FOUR; i++) {
                sums[i] = lt_add(sums[i], (x[i] + base) * (int8_t)((uint32_t)*w >> (8 * i) & 0xFFU));
            }
        }
        w += of->after / words;
        scale(sums, w, of->odd, out, any);
        record = w + (any ? SCALES_ANY : SCALES);
    }
    return record;
}

LT_SHARED const int32_t *lt_columns_tap(const lt_columns_taps *of)
{
    return tap_by(of, 0);
}

LT_SHARED const int32_t *lt_columns_tap_any(const lt_columns_taps *of)
{
    return tap_by(of, 1);
}

#endif
