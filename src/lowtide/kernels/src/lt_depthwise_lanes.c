/* lt_depthwise_lanes.c: see lt_depthwise_lanes.h. The parts that lt_depthwise_lanes_helium.c has in
 * vectors are here in plain C, too: they say what those do, and stand in for them on other cores. */
#include "lt_depthwise_lanes.h"

#include <stddef.h>

#include "lt_fixed.h"

/* `n` channels of the windows from column `first` on, [kernel_h][columns][n]; `c` is the first of them. */
static void gather(const lt_depthwise_lanes_s8 *p, const void *const *rows, int32_t first,
                   int32_t columns, int32_t c, int32_t n, int8_t *to)
{
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++) {
        const int8_t *row = *rows;
        for (int32_t x = first; x < first + columns; x++, to += n) {
            if (row != NULL && x >= 0 && x < p->in_w) {
                lt_taps_copy(to, row + x * p->channels + c, n);
            } else {
                lt_taps_fill(to, p->input_zero, n);
            }
        }
    }
}

/* Run what is quick for these windows, and return 1; or 0 if there is nothing. */
static int32_t run_quick(const lt_taps *of)
{
    static void (*const three[2][3])(const lt_taps *) = {
        {lt_taps_1, lt_taps_1_first, lt_taps_1_last},
        {lt_taps_2, lt_taps_2_first, lt_taps_2_last},
    };
    int32_t after = of->kernel_w + of->stride - of->to;
    if (of->kernel_h == 3 && of->kernel_w == 3) {
        if (of->from + after > 1 || of->rows[1] == NULL) {
            return 0;
        }
        three[of->stride - 1][of->from + 2 * after](of);
        return 1;
    }
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        if (of->rows[ky] == NULL) {
            return 0;
        }
    }
    if (of->from + after > 0) {
        return 0;
    }
    lt_taps_any(of);
    return 1;
}

/* Two pixels by patches; `first` is where the first window begins. */
static void run_patches(const lt_depthwise_lanes_s8 *p, const void *const *rows, int32_t first,
                        lt_taps of, int8_t *patch)
{
    int32_t columns = p->kernel_w + p->stride_w, n = p->patch;
    of.from = 0;
    of.to = columns;
    for (int32_t c = 0; c < p->channels; c += n) {
        n = p->channels - c < n ? p->channels - c : n;
        gather(p, rows, first, columns, c, n, patch);
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            of.rows[ky] = patch + ky * columns * n;
        }
        of.pitch = n;
        of.groups = n >> 2;
        (void)run_quick(&of);
        of.records += of.groups * (p->kernel_h * p->kernel_w + 12);
        of.out += n;
    }
}

void lt_depthwise_lanes_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_lanes_s8 *p = params;
    int32_t channels = p->channels, columns = p->kernel_w + p->stride_w;
    lt_taps of = {{NULL}, p->records, NULL, channels, p->out_w > 1 ? channels : 0, channels >> 2,
                  p->output_zero, p->low, p->high, p->input_zero, p->kernel_h, p->kernel_w,
                  p->stride_w, 0, 0};
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * channels);
    for (int32_t x = 0; x < p->out_w; x += 2) {
        int32_t at = x + 1 < p->out_w || x == 0 ? x : x - 1, first = at * p->stride_w - p->pad_left;
        of.from = first < 0 ? -first : 0;
        of.to = p->in_w - first < columns ? p->in_w - first : columns;
        of.out = (int8_t *)step->out[0] + at * channels;
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            const int8_t *row = step->in[ky];
            of.rows[ky] = row == NULL ? NULL : row + (first + of.from) * channels;
        }
        if (!of.other || !run_quick(&of)) {
            run_patches(p, step->in, first, of, step->scratch);
        }
    }
}

#ifndef LT_HELIUM

#include <string.h>

void lt_taps_copy(int8_t *to, const int8_t *from, int32_t n)
{
    memcpy(to, from, (size_t)n);
}

void lt_taps_fill(int8_t *to, int32_t value, int32_t n)
{
    memset(to, value, (size_t)n);
}

/* Channel c of four, of the pixel whose window begins in column `first` of those that are read. */
static int8_t channel(const lt_taps *of, const int32_t *record, int32_t first, int32_t c)
{
    const int8_t *w = (const int8_t *)record + (c & 3);
    const int32_t *scale = record + of->kernel_h * of->kernel_w + (c & 3);
    int32_t sum = scale[0], shift = -1 - scale[8];
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        for (int32_t x = first; x < first + of->kernel_w; x++, w += 4) {
            int32_t inside = of->rows[ky] != NULL && x >= of->from && x < of->to;
            sum += *w * (inside ? of->rows[ky][(x - of->from) * of->pitch + c] : of->padding);
        }
    }
    sum = lt_narrow(lt_add(sum, sum), scale[4], lt_centre(2 * of->zero + 1, shift), shift);
    return (int8_t)lt_clamp(sum, of->low, of->high);
}

void lt_taps_any(const lt_taps *of)
{
    const int32_t *record = of->records;
    for (int32_t c = 0; c < 4 * of->groups; c++) {
        if (of->other != 0) {
            of->out[of->other + c] = channel(of, record, of->stride, c);
        }
        of->out[c] = channel(of, record, 0, c);
        record += (c & 3) == 3 ? of->kernel_h * of->kernel_w + 12 : 0;
    }
}

#define LT_THREE(name)            \
    void name(const lt_taps *of)  \
    {                             \
        lt_taps_any(of);          \
    }

LT_THREE(lt_taps_1)
LT_THREE(lt_taps_1_first)
LT_THREE(lt_taps_1_last)
LT_THREE(lt_taps_2)
LT_THREE(lt_taps_2_first)
LT_THREE(lt_taps_2_last)

#endif
