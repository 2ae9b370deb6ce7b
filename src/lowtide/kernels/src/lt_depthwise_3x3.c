/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_3x3.c: see lt_depthwise_3x3.h. The parts that lt_depthwise_3x3_dsp.c has in
 * assembly are here in C, too: they say what those do, and stand in for them on other cores. */
#include "lt_depthwise_3x3.h"

#include <stddef.h>
#include <string.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#define WORDS 6 /* of a column */

static int32_t smaller(int32_t a, int32_t b)
{
    return (a < b) ? a : b;
}

/* Columns of padding. */
static void pad(int32_t *columns, int32_t count)
{
    for (const int32_t *end = columns + (count * WORDS); columns != end; columns++) {
        LT_LOOP_AS_IT_IS(columns);
        *columns = 0;
    }
}

/* Which rows there are: where the first of them is, how far each is from it, and the masks. Apart, as its
   frame is not kept while channels are made. */
LT_APART static const int8_t *find_rows(const void *const *given, int32_t kernel_h, lt_3x3_piece *of)
{
    const int8_t *in[3] = {given[0], (kernel_h > 1) ? given[1] : NULL, (kernel_h > 2) ? given[2] : NULL};
    const int8_t *any = (in[0] != NULL) ? in[0] : (in[1] != NULL) ? in[1] : in[2];
    const int8_t *rows[3];
    for (int32_t i = 0; i < 3; i++) {
        rows[i] = (in[i] != NULL) ? in[i] : any;
    }
    of->masks[0] = ((in[0] != NULL) ? 0xFFFFU : 0) | ((in[1] != NULL) ? 0xFFFF0000U : 0);
    of->masks[1] = ((in[0] != NULL) ? 0xFFU : 0) | ((in[1] != NULL) ? 0xFF0000U : 0);
    of->masks[1] |= (in[2] != NULL) ? 0xFF00FF00U : 0;
    of->masks[2] = (in[2] != NULL) ? 0xFFFFFFFFU : 0xFFFFU;
    of->row1 = (intptr_t)rows[1] - (intptr_t)rows[0];
    of->row2 = (intptr_t)rows[2] - (intptr_t)rows[0];
    return rows[0];
}

/* The n windows from x on: how many of their columns are there, with those before and after that are
 * padding. */
typedef struct {
    int32_t before, inside, after;
} parts;

static parts parts_of(const lt_depthwise_3x3_s8 *p, int32_t x, int32_t n, int32_t no_rows)
{
    int32_t first = (x * p->stride_w) - p->pad_left, count = ((n - 1) * p->stride_w) + 3;
    parts of = {(first < 0) ? smaller(-first, count) : 0, 0, 0};
    of.inside = no_rows ? 0 : smaller(p->in_w - first, count) - of.before;
    of.inside = (of.inside < 0) ? 0 : of.inside;
    of.after = count - of.before - of.inside;
    return of;
}

/* Two halves as a word. */
static inline int32_t pair(int32_t low, int32_t high)
{
    return (int32_t)(((uint32_t)low & 0xFFFFU) | (uint32_t)high << 16);
}

/* The columns from `at` on, behind those that there are words of, for results from c on. */
LT_APART static void unpack_each(const lt_depthwise_3x3_s8 *p, const lt_3x3_piece *of, const int8_t *at,
                                 int32_t c, int32_t count)
{
    int32_t channels = p->channels, base = (int16_t)of->base, *to = of->to + (of->count * WORDS);
    int32_t from[4]; /* of a result that is missing, the last channel */
    for (int32_t i = 0; i < 4; i++) {
        from[i] = smaller((c + i) / p->filters, channels - 1);
    }
    for (; count > 0; count--, at += channels, to += WORDS) {
        const int8_t *row1 = at + of->row1, *row2 = at + of->row2;
        to[0] = pair(at[from[0]] + base, row1[from[0]] + base);
        to[1] = pair(row2[from[0]] + base, row2[from[2]] + base);
        to[2] = pair(at[from[2]] + base, row1[from[2]] + base);
        to[3] = pair(at[from[1]] + base, row1[from[1]] + base);
        to[4] = pair(row2[from[1]] + base, row2[from[3]] + base);
        to[5] = pair(at[from[3]] + base, row1[from[3]] + base);
    }
}

/* Results of fewer than four channels, from where there was room for four. */
static void put(int8_t *to, const int8_t *from, int32_t bytes)
{
    for (; bytes > 0; bytes--) {
        LT_LOOP_AS_IT_IS(to);
        *to++ = *from++;
    }
}

LT_INLINE void run_row(const lt_depthwise_3x3_s8 *p, const lt_step *step, void (*make_1)(lt_3x3_piece *),
                   void (*make_2)(lt_3x3_piece *))
{
    int32_t channels = p->channels * p->filters, stride = p->stride_w;
    int32_t few = channels < 4, apart = p->filters > 1;
    uint32_t low = (uint32_t)-p->input_zero;
    int8_t *out = step->out[0];
    lt_3x3_piece of = {step->scratch, {0, 0, 0}, p->centre, NULL, NULL, NULL, 0, 0, channels,
                       (int32_t)((low & 0xFFFFU) | (low << 16)), 0, 0, out, 0};
    const int8_t *rows = find_rows(step->in, p->kernel_h, &of);
    for (int32_t x = 0; x < p->out_w; x += of.n) {
        of.n = smaller(p->piece, p->out_w - x);
        parts at = parts_of(p, x, of.n, rows == NULL);
        int32_t wide = (at.before > 1) || (at.after > 1); /* results overwrite what is not at the ends */
        of.records = p->records;
        of.to = of.columns + (at.before * WORDS);
        /* Columns in whose words there is more than is there, or no four channels. */
        int32_t each = apart ? at.inside : smaller(3 / channels, at.inside);
        of.count = at.inside - each;
        of.out = few ? (int8_t *)of.columns : (out + (x * channels)); /* behind what it still reads */
        const int8_t *row = (rows == NULL) ? out
                                           : (rows + (((x * stride) - p->pad_left + at.before) * p->channels));
        of.row = row;
        LT_MACS(of.n * p->kernel_h * p->kernel_w * channels);
        for (int32_t c = 0; c < channels;) {
            int32_t again = (((c + 4) > channels) && !few) ? (c + 4 - channels) : 0; /* results made before */
            int32_t many = (wide || apart || few || (again > 0)) ? 1 : ((channels - c) / 4);
            c -= again;
            of.row -= again;
            of.out -= again;
            of.groups = many;
            pad(of.columns, at.before);
            pad(of.to + (at.inside * WORDS), at.after);
            if (each > 0) {
                unpack_each(p, &of, row + (of.count * p->channels), c, each);
            }
            if (stride == 1) {
                make_1(&of);
            } else {
                make_2(&of);
            }
            c += 4 * many;
        }
        if (few != 0) {
            put(out + (x * channels), step->scratch, of.n * channels);
        }
    }
    lt_clamp_row(out, out + (p->out_w * channels), p->low, p->high);
}

LT_SHARED void lt_depthwise_3x3_s8_row(const void *params, const lt_step *step)
{
    run_row(params, step, lt_3x3_make_1, lt_3x3_make_2);
}

LT_SHARED void lt_depthwise_3x3_s8_any(const void *params, const lt_step *step)
{
    run_row(params, step, lt_3x3_any_1, lt_3x3_any_2);
}

#ifndef LT_DSP

/* Byte i of a word. */
static int32_t byte(int32_t word, int32_t i)
{
    return (int8_t)((uint32_t)word >> (8 * i) & 0xFFU);
}

static void unpack(const lt_3x3_piece *of)
{
    const int8_t *at = of->row;
    int32_t base = (int16_t)of->base, *to = of->to;
    for (int32_t left = of->count; left > 0; left--, at += of->pitch, to += WORDS) {
        const int8_t *row1 = at + of->row1, *row2 = at + of->row2;
        to[0] = pair(at[0] + base, row1[0] + base);
        to[1] = pair(row2[0] + base, row2[2] + base);
        to[2] = pair(at[2] + base, row1[2] + base);
        to[3] = pair(at[1] + base, row1[1] + base);
        to[4] = pair(row2[1] + base, row2[3] + base);
        to[5] = pair(at[3] + base, row1[3] + base);
    }
}

/* The sum of column x of the weights of a record with a column of channel c, times 2^left. */
static int32_t sum_column(const int32_t *words, const int32_t *column, int32_t c, int32_t x, int32_t left)
{
    static const int8_t taken[4] = {0, 3, 2, 5};
    int32_t rows01 = column[taken[c]], row2 = column[c & 1 ? 4 : 1];
    int32_t w0 = x < 2 ? byte(words[0], x) : byte(words[1], 0);
    int32_t w1 = x < 2 ? byte(words[0], x + 2) : byte(words[1], 2);
    int32_t w2 = x < 2 ? byte(words[1], 2 * x + 1) : (words[2] >> 16) / (1 << left);
    int32_t sum = (int16_t)rows01 * w0 + (rows01 >> 16) * w1 + (c & 2 ? row2 >> 16 : (int16_t)row2) * w2;
    return (int32_t)((uint32_t)sum << left);
}

/* The results of a group, where the columns were. */
static void sum(lt_3x3_piece *of, int32_t stride, int32_t any)
{
    static const int8_t order[4] = {0, 2, 1, 3};
    for (int32_t i = 0; i < 4; i++, of->records += any ? 7 : 5) {
        const int32_t *record = of->records + any;
        int32_t *at = of->columns, words[3];
        for (int32_t k = 0; k < 3; k++) {
            words[k] = (int32_t)((uint32_t)record[k] & of->masks[k]);
        }
        int32_t shift = words[2] & 0xFF, doubled = any ? words[2] >> 8 & 0xFF : 1;
        int8_t *last = NULL, value = 0; /* a result replaces what the next window still reads */
        for (int32_t left = of->n; left > 0; left--, at += stride * WORDS) {
            int32_t found = record[3];
            for (int32_t x = 0; x < 3; x++) {
                found = lt_add(found, sum_column(words, at + x * WORDS, order[i], x, doubled));
            }
            found = any ? lt_broad(found, record[4], record[5], record[-1], shift)
                        : lt_narrow(found, record[4], lt_centre(of->odd, shift), shift);
            if (last != NULL) {
                *last = value;
            }
            last = (int8_t *)(at + WORDS) + order[i];
            value = (int8_t)lt_clamp(found, INT8_MIN, INT8_MAX);
        }
#ifdef __GNUC__
        if (last == NULL) {
            __builtin_unreachable(); /* n is 1 or more */
        }
#endif
        *last = value;
    }
}

static void make(lt_3x3_piece *of, int32_t stride, int32_t any)
{
    for (; of->groups > 0; of->groups--, of->row += 4, of->out += 4) {
        unpack(of);
        sum(of, stride, any);
        for (int32_t i = 0; i < of->n; i++) {
            (void)memcpy(of->out + (i * of->pitch), of->columns + (WORDS * (1 + (i * stride))), 4);
        }
    }
}

LT_SHARED void lt_3x3_make_1(lt_3x3_piece *of)
{
    make(of, 1, 0);
}

LT_SHARED void lt_3x3_make_2(lt_3x3_piece *of)
{
    make(of, 2, 0);
}

LT_SHARED void lt_3x3_any_1(lt_3x3_piece *of)
{
    make(of, 1, 1);
}

LT_SHARED void lt_3x3_any_2(lt_3x3_piece *of)
{
    make(of, 2, 1);
}

#endif
