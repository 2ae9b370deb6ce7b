/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_vector.c: see lt_conv_vector.h. The parts that lt_conv_vector_helium.c has in assembly are here
 * in C, too: they say what those do, and stand in for them on other cores. */
#include "lt_conv_vector.h"

#include <stddef.h>
#include <string.h>

#include "lt_elem.h"
#include "lt_fixed.h"

/* A window whose columns are apart, tap by tap; some are padding. */
static void gather_taps(const lt_conv_vector_s8 *p, const void *const *rows, int32_t first, int8_t *to)
{
    int32_t in_c = p->in_c, run = p->kernel_w * in_c;
    lt_vector_rows of = {p->kernel_h, in_c, run, p->input_zero, p->flip, 0};
    for (int32_t kx = p->kernel_w; kx > 0; kx--, first += p->dilation_w, to += in_c) {
        if ((first >= 0) && (first < p->in_w)) {
            lt_vector_copy(to, rows, first * in_c, &of);
            continue;
        }
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            lt_vector_fill(to + (ky * run), p->input_zero, in_c);
        }
    }
}

/* Where the products of a short row of the window are, if its columns are apart; false if it is none, or is too
 * long. */
LT_APART static int32_t pick(const lt_conv_vector_s8 *p, lt_vector_places *of)
{
    int32_t in_c = p->in_c, run = p->kernel_w * in_c, next = p->dilation_w * in_c;
    if ((p->dilation_w == 1) || (p->kernel_w == 1) || (run > 16) || ((((p->kernel_w - 1) * next) + in_c) > 256)) {
        return 0;
    }
    of->rows = p->kernel_h;
    of->bytes = run;
    of->padding = p->input_zero;
    of->flip = p->flip;
    for (int32_t kx = 0, i = 0; kx < p->kernel_w; kx++) {
        for (int32_t c = 0; c < in_c; c++, i++) {
            of->places[i] = (uint8_t)((kx * next) + c);
            of->taps[i] = (uint8_t)kx;
        }
    }
    return 1;
}

/* Such a window. */
static void gather_places(const lt_conv_vector_s8 *p, const void *const *rows, int32_t first, int8_t *to,
                          lt_vector_places *of)
{
    int32_t dilation = p->dilation_w, inside = p->in_w - first;
    of->from = (first < 0) ? ((dilation - 1 - first) / dilation) : 0;
    of->to = (inside > 0) ? ((inside + dilation - 1) / dilation) : 0;
    of->to = (of->to < p->kernel_w) ? of->to : p->kernel_w;
    lt_vector_pick(to, rows, first * p->in_c, of);
}

/* The products of the pixel whose window begins in column `first`: of each row `before` columns of padding,
 * then some of the image, then padding. `places` are null if there are none. */
LT_APART static void gather(const lt_conv_vector_s8 *p, const void *const *rows, int32_t first, int8_t *to,
                            lt_vector_places *places)
{
    int32_t width = p->kernel_w, in_c = p->in_c, run = width * in_c;
    if ((p->dilation_w != 1) && (width != 1)) {
        if (places != NULL) {
            gather_places(p, rows, first, to, places);
        } else {
            gather_taps(p, rows, first, to);
        }
        return;
    }
    int32_t before = (first < 0) ? -first : 0, after = first + width - p->in_w;
    before = (before < width) ? before : width;
    after = (after < 0) ? 0 : (after < width) ? after : width;
    if ((before + after) > 0) {
        lt_vector_fill(to, p->input_zero, p->products);
    }
    lt_vector_rows of = {p->kernel_h, (width - before - after) * in_c, run, p->input_zero, p->flip, 0};
    lt_vector_copy(to + (before * in_c), rows, (first + before) * in_c, &of);
}

enum { TURNS = 4 }; /* at once of channels that are no four */

/* The last channels, which are no four, of the pixels of `of`, by `run`. Changes `of`. */
LT_APART static void run_rest(const lt_conv_vector_s8 *p, void (*run)(const lt_vector *), lt_vector *of,
                           int32_t pixels)
{
    int8_t made[8 * TURNS], *out = of->out + (p->out_c & ~3);
    int32_t rest = p->out_c & 3, width = (of->last > 8) ? 16 : 8;
    of->records += of->groups * (12 + (16 * of->chunks) + width);
    of->out = made;
    of->out_c = 4;
    of->groups = 1;
    for (int32_t left = of->turns; left > 0; left -= of->turns) {
        of->turns = (left < TURNS) ? left : TURNS;
        run(of);
        for (int32_t i = 0; i < (of->turns * pixels); i++, out += p->out_c) {
            out[0] = made[4 * i];
            if (rest > 1) {
                out[1] = made[(4 * i) + 1];
                out[rest - 1] = made[(4 * i) + rest - 1];
            }
        }
        of->x[0] += of->turns * of->next;
        of->x[1] += of->turns * of->next;
    }
}

/* In `of` what is the same for all pixels, of which `pixels` are made at once. */
static inline void prepare(const lt_conv_vector_s8 *p, int32_t pixels, lt_vector *of)
{
    int32_t pixel = p->direct ? p->stride_w * p->in_c : p->products;
    of->chunks = (p->products - 1) >> 4;
    of->records = p->records;
    of->groups = p->out_c >> 2;
    of->out_c = p->out_c;
    of->next = pixels * pixel;
    of->last = p->products - (16 * of->chunks);
    of->zero = p->output_zero;
    of->low = p->low;
    of->high = p->high;
}

/* The same, and what makes them. */
LT_APART static void (*begin(const lt_conv_vector_s8 *p, int32_t pixels, lt_vector *of))(const lt_vector *)
{
    static void (*const runs[3][2])(const lt_vector *) = {{lt_vector_one_8, lt_vector_one_16},
                                                          {lt_vector_two_8, lt_vector_two_16},
                                                          {lt_vector_above_8, lt_vector_above_16}};
    prepare(p, pixels, of);
    return runs[pixels == 1 ? 0 : p->low < p->output_zero ? 1 : 2][of->last > 8];
}

/* The same of any factors. */
LT_APART static void (*begin_any(const lt_conv_vector_s8 *p, int32_t pixels, lt_vector *of))(const lt_vector *)
{
    static void (*const runs[2][2])(const lt_vector *) = {{lt_vector_one_any_8, lt_vector_one_any_16},
                                                          {lt_vector_two_any_8, lt_vector_two_any_16}};
    prepare(p, pixels, of);
    return runs[pixels - 1][of->last > 8];
}

/* All channels of so many turns of pixels from `x` on, `pixels` at once by `run`; their outputs are at `out`. */
static inline void run_all(const lt_conv_vector_s8 *p, lt_vector *of, void (*run)(const lt_vector *),
                           const int8_t *x, int8_t *out, int32_t pixels, int32_t turns)
{
    of->x[0] = x;
    of->x[1] = (pixels == 2) ? (x + (of->next >> 1)) : x;
    of->out = out;
    of->turns = turns;
    if (of->groups > 0) {
        run(of);
    }
    if ((p->out_c & 3) != 0) {
        lt_vector rest = *of;
        run_rest(p, run, &rest, pixels);
    }
}

LT_INLINE void direct(const lt_conv_vector_s8 *p, const int8_t *row, int8_t *out, int32_t any)
{
    lt_vector of;
    int32_t pixels = p->out_w;
    if (pixels > 1) {
        void (*run)(const lt_vector *) = any ? begin_any(p, 2, &of) : begin(p, 2, &of);
        run_all(p, &of, run, row, out, 2, pixels >> 1);
    }
    if ((pixels & 1) != 0) {
        void (*run)(const lt_vector *) = any ? begin_any(p, 1, &of) : begin(p, 1, &of);
        row += (pixels - 1) * p->stride_w * p->in_c;
        run_all(p, &of, run, row, out + (pixels - 1) * p->out_c, 1, 1);
    }
}

LT_APART static void run_direct(const lt_conv_vector_s8 *p, const int8_t *row, int8_t *out)
{
    direct(p, row, out, 0);
}

LT_APART static void run_direct_any(const lt_conv_vector_s8 *p, const int8_t *row, int8_t *out)
{
    direct(p, row, out, 1);
}

LT_INLINE void windows(const lt_conv_vector_s8 *p, const lt_step *step, int32_t any)
{
    lt_vector of;
    int32_t left = p->out_w, first = -p->pad_left, stride = p->stride_w, in_c = p->in_c;
    int32_t width = p->kernel_w, length = width * in_c;
    int8_t *patch = step->scratch, *out = step->out[0];
    lt_vector_places found, *places = pick(p, &found) ? &found : NULL;
    if (left > 1 && !p->lean) {
        void (*run)(const lt_vector *) = any ? begin_any(p, 2, &of) : begin(p, 2, &of);
        /* Of short rows without padding, those of both windows are copied at once. */
        int32_t apart = (p->dilation_w != 1) && (width != 1);
        int32_t last = (!apart && (length <= 16)) ? (p->in_w - width - stride) : -1;
        lt_vector_rows both = {p->kernel_h, length, length, p->input_zero, p->flip, stride * in_c};
        for (; left > 1; left -= 2, first += 2 * stride, out += 2 * p->out_c) {
            if ((first >= 0) && (first <= last)) {
                lt_vector_copy_two(patch, step->in, first * in_c, &both);
            } else {
                gather(p, step->in, first, patch, places);
                gather(p, step->in, first + stride, patch + p->products, places);
            }
            run_all(p, &of, run, patch, out, 2, 1);
        }
    }
    if (left > 0) {
        void (*run)(const lt_vector *) = any ? begin_any(p, 1, &of) : begin(p, 1, &of);
        for (; left > 0; left--, first += stride, out += p->out_c) {
            gather(p, step->in, first, patch, places);
            run_all(p, &of, run, patch, out, 1, 1);
        }
    }
}

LT_APART static void run_windows(const lt_conv_vector_s8 *p, const lt_step *step)
{
    windows(p, step, 0);
}

LT_APART static void run_windows_any(const lt_conv_vector_s8 *p, const lt_step *step)
{
    windows(p, step, 1);
}

LT_INLINE void row(const lt_conv_vector_s8 *p, const lt_step *step, int32_t any)
{
    LT_MACS(p->out_w * p->products * p->out_c);
    if (p->direct != 0) {
        (any ? run_direct_any : run_direct)(p, step->in[0], step->out[0]);
    } else {
        (any ? run_windows_any : run_windows)(p, step);
    }
    if ((p->out_w > 1) && ((p->low > INT8_MIN) || (p->high < INT8_MAX))) {
        lt_vector_clamp(step->out[0], p->out_w * p->out_c, p->low, p->high);
    }
}

LT_SHARED void lt_conv_vector_s8_row(const void *params, const lt_step *step)
{
    row(params, step, 0);
}

LT_SHARED void lt_conv_vector_s8_any(const void *params, const lt_step *step)
{
    row(params, step, 1);
}

#ifndef LT_HELIUM

LT_SHARED void lt_vector_copy(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_rows *of)
{
    for (int32_t y = 0; y < of->rows; y++, to += of->pitch) {
        const int8_t *from = rows[y];
        for (int32_t i = 0; i < of->bytes; i++) {
            to[i] = (int8_t)((from == NULL) ? of->padding : (from[offset + i] ^ of->flip));
        }
    }
}

LT_SHARED void lt_vector_copy_two(int8_t *to, const void *const *rows, int32_t offset,
                                  const lt_vector_rows *of)
{
    lt_vector_copy(to, rows, offset, of);
    lt_vector_copy(to + (of->rows * of->pitch), rows, offset + of->next, of);
}

LT_SHARED void lt_vector_pick(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_places *of)
{
    for (int32_t y = 0; y < of->rows; y++, to += of->bytes) {
        const int8_t *from = rows[y];
        for (int32_t i = 0; i < of->bytes; i++) {
            int32_t there = (from != NULL) && (of->taps[i] >= of->from) && (of->taps[i] < of->to);
            to[i] = (int8_t)(there ? (from[offset + of->places[i]] ^ of->flip) : of->padding);
        }
    }
}

LT_SHARED void lt_vector_fill(int8_t *to, int32_t value, int32_t n)
{
    (void)memset(to, value, (size_t)n);
}

LT_SHARED void lt_vector_clamp(int8_t *at, int32_t n, int32_t low, int32_t high)
{
    for (int32_t i = 0; i < n; i++) {
        at[i] = (int8_t)lt_clamp(at[i], low, high);
    }
}

/* Channel c of four: its record, and the products of a pixel. */
static int8_t channel(const lt_vector *of, const int32_t *record, int32_t c, const int8_t *x, int32_t low,
                      int32_t high)
{
    int32_t width = (of->last > 8) ? 16 : 8, sum = record[c];
    const int8_t *w = (const int8_t *)(record + 4) + (16 * c);
    const int32_t *scale = record + 4 + (16 * of->chunks) + width;
    for (int32_t k = 0; k < of->chunks; k++, w += 64, x += 16) {
        for (int32_t i = 0; i < 16; i++) {
            sum += x[i] * w[i];
        }
    }
    w -= (16 - width) * c;
    for (int32_t i = 0; i < of->last; i++) {
        sum += x[i] * w[i];
    }
    int32_t y = lt_add(lt_scale(sum, scale[c], scale[4 + c]), of->zero);
    return (int8_t)lt_clamp(y, low, high);
}

static void run_pixels(const lt_vector *of, int32_t pixels, int32_t low, int32_t high)
{
    int32_t words = 12 + (16 * of->chunks) + ((of->last > 8) ? 16 : 8);
    for (int32_t turn = 0; turn < of->turns; turn++) {
        for (int32_t i = 0; i < pixels; i++) {
            int8_t *out = of->out + (((turn * pixels) + i) * of->out_c);
            for (int32_t c = 0; c < (4 * of->groups); c++) {
                const int32_t *record = of->records + (c >> 2) * words;
                out[c] = channel(of, record, c & 3, of->x[i] + (turn * of->next), low, high);
            }
        }
    }
}

LT_SHARED void lt_vector_two_8(const lt_vector *of)
{
    run_pixels(of, 2, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_vector_two_16(const lt_vector *of)
{
    run_pixels(of, 2, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_vector_above_8(const lt_vector *of)
{
    run_pixels(of, 2, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_vector_above_16(const lt_vector *of)
{
    run_pixels(of, 2, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_vector_two_any_8(const lt_vector *of)
{
    run_pixels(of, 2, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_vector_two_any_16(const lt_vector *of)
{
    run_pixels(of, 2, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_vector_one_8(const lt_vector *of)
{
    run_pixels(of, 1, of->low, of->high);
}

LT_SHARED void lt_vector_one_16(const lt_vector *of)
{
    run_pixels(of, 1, of->low, of->high);
}

LT_SHARED void lt_vector_one_any_8(const lt_vector *of)
{
    run_pixels(of, 1, of->low, of->high);
}

LT_SHARED void lt_vector_one_any_16(const lt_vector *of)
{
    run_pixels(of, 1, of->low, of->high);
}

#endif
