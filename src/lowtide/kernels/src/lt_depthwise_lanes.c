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

static void run(const lt_taps *of)
{
    if (of->kernel_h == 3 && of->kernel_w == 3) {
        if (of->stride == 1) {
            lt_taps_3_1(of);
        } else {
            lt_taps_3_2(of);
        }
    } else {
        lt_taps_any(of);
    }
}

/* Two pixels, or one if `other` is 0, by patches; `first` is where the window begins. */
static void run_patches(const lt_depthwise_lanes_s8 *p, const void *const *rows, int32_t first,
                        lt_taps of, int8_t *patch)
{
    int32_t columns = p->kernel_w + p->stride_w, n = p->patch;
    for (int32_t c = 0; c < p->channels; c += n) {
        n = p->channels - c < n ? p->channels - c : n;
        gather(p, rows, first, columns, c, n, patch);
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            of.rows[ky] = patch + ky * columns * n;
        }
        of.pitch = n;
        of.groups = n >> 2;
        run(&of);
        of.records += of.groups * (p->kernel_h * p->kernel_w + 12);
        of.out += n;
    }
}

void lt_depthwise_lanes_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_lanes_s8 *p = params;
    lt_taps of = {{NULL}, p->records, step->out[0], p->channels, p->channels, p->channels >> 2,
                  p->output_zero, p->low, p->high, p->kernel_h, p->kernel_w, p->stride_w};
    int32_t first = -p->pad_left, whole = 1;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        of.rows[ky] = step->in[ky];
        whole &= of.rows[ky] != NULL;
    }
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * p->channels);
    for (int32_t left = p->out_w; left > 0; left -= 2, first += 2 * p->stride_w) {
        of.other = left > 1 ? p->channels : 0;
        if (whole && of.other && first >= 0 && first + p->stride_w + p->kernel_w <= p->in_w) {
            lt_taps inside = of;
            for (int32_t ky = 0; ky < p->kernel_h; ky++) {
                inside.rows[ky] += first * p->channels;
            }
            run(&inside);
        } else {
            run_patches(p, step->in, first, of, step->scratch);
        }
        of.out += 2 * p->channels;
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

/* Channel c of four, of the pixel whose window begins in column `first`. */
static int8_t channel(const lt_taps *of, const int32_t *record, int32_t first, int32_t c)
{
    const int8_t *w = (const int8_t *)record + (c & 3);
    const int32_t *scale = record + of->kernel_h * of->kernel_w + (c & 3);
    int32_t sum = scale[0], shift = -1 - scale[8];
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        const int8_t *x = of->rows[ky] + first * of->pitch + c;
        for (int32_t kx = 0; kx < of->kernel_w; kx++, x += of->pitch, w += 4) {
            sum += *x * *w;
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

void lt_taps_3_1(const lt_taps *of)
{
    lt_taps_any(of);
}

void lt_taps_3_2(const lt_taps *of)
{
    lt_taps_any(of);
}

#endif
