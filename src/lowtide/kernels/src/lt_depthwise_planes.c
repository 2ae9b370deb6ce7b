/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_planes.c: see lt_depthwise_planes.h. What lt_depthwise_planes_helium.c has in vectors is
 * here in plain C, too: it says what that does, and stands in for it on other cores. */
#include "lt_depthwise_planes.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

/* The pixels from column x on that are `apart` columns from each other. */
LT_INLINE void pixels(const lt_depthwise_planes_s8 *p, const lt_step *step, void (*run)(lt_planes *),
                      lt_planes *of, int32_t x, int32_t piece, int32_t nulls)
{
    int32_t dilation = p->dilation_w, apart = p->apart, left = (p->out_w - x + apart - 1) / apart;
    for (; left > 0; left -= of->pixels, x += of->pixels * apart) {
        int32_t first = (x * p->stride_w) - p->pad_left, to = p->in_w - first;
        of->pixels = (left < piece) ? left : piece;
        int32_t columns = (((of->pixels - 1) * of->advance) / p->kernel_h) + p->kernel_w;
        of->from = (first < 0) ? ((dilation - 1 - first) / dilation) : 0;
        to = (to > 0) ? ((to + dilation - 1) / dilation) : 0;
        to = (to < columns) ? to : columns;
        of->columns = (to > of->from) ? (to - of->from) : 0;
        of->offset = (first + (of->from * dilation)) * p->channels;
        of->record = p->records;
        of->out = (int8_t *)step->out[0] + (x * p->channels);
        if (nulls || (of->columns < columns)) {
            lt_planes_fill(of->planes, p->input_zero, 4 * of->plane);
        }
        run(of);
    }
}

LT_INLINE void row(const lt_depthwise_planes_s8 *p, const lt_step *step, void (*run)(lt_planes *))
{
    int32_t channels = p->channels, height = p->kernel_h, apart = p->apart, nulls = 0;
    int32_t stride = (p->stride_w * apart) / p->dilation_w, most = (p->out_w + apart - 1) / apart;
    int32_t piece = (p->piece < most) ? p->piece : most;
    int32_t plane = height * (((piece - 1) * stride) + p->kernel_w), taps = height * p->kernel_w;
    lt_planes of = {step->scratch, plane, NULL, NULL, apart * channels, p->output_zero, stride * height, piece, taps,
                    channels, step->in, height, 0, 0, 0, p->dilation_w * channels};
    LT_MACS(p->out_w * taps * channels);
    for (int32_t ky = 0; ky < height; ky++) {
        nulls |= step->in[ky] == NULL;
    }
    for (int32_t x = 0; x < ((apart < p->out_w) ? apart : p->out_w); x++) {
        pixels(p, step, run, &of, x, piece, nulls);
    }
    if ((p->low > INT8_MIN) || (p->high < INT8_MAX)) {
        lt_planes_clamp(step->out[0], p->out_w * channels, p->low, p->high);
    }
}

LT_SHARED void lt_depthwise_planes_s8_row(const void *params, const lt_step *step)
{
    row(params, step, lt_planes_run);
}

LT_SHARED void lt_depthwise_planes_s8_any(const void *params, const lt_step *step)
{
    row(params, step, lt_planes_run_any);
}

#ifndef LT_HELIUM

LT_SHARED void lt_planes_fill(int8_t *to, int32_t value, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        to[i] = (int8_t)value;
    }
}

LT_SHARED void lt_planes_clamp(int8_t *at, int32_t n, int32_t low, int32_t high)
{
    lt_clamp_row(at, at + n, low, high);
}

LT_SHARED void lt_planes_run(lt_planes *of)
{
    for (int32_t c = 0; c < of->channels; c++, of->out++) {
        int32_t four = c & ~3; /* the last record is of the last four, of which some are made already */
        int32_t lane = c - (((four > 0) && ((four + 4) > of->channels)) ? (of->channels - 4) : four);
        const int32_t *record = of->record + (c >> 2) * (of->taps + 12);
        const int8_t *w = (const int8_t *)record + (lane * of->taps);
        const int32_t *scale = record + of->taps + lane;
        int8_t *plane = of->planes + (lane * of->plane);
        for (int32_t ky = 0; ky < of->kernel_h; ky++) {
            const int8_t *in = of->rows[ky];
            for (int32_t x = 0; (x < of->columns) && (in != NULL); x++) {
                plane[((of->from + x) * of->kernel_h) + ky] = in[of->offset + (x * of->next) + c];
            }
        }
        for (int32_t x = 0; x < of->pixels; x++) {
            int32_t sum = scale[0];
            for (int32_t i = 0; i < of->taps; i++) {
                sum += plane[(x * of->advance) + i] * w[i];
            }
            sum = lt_add(lt_scale(sum, scale[4], scale[8]), of->zero);
            of->out[x * of->pitch] = (int8_t)lt_clamp(sum, INT8_MIN, INT8_MAX);
        }
    }
}

LT_SHARED void lt_planes_run_any(lt_planes *of)
{
    lt_planes_run(of);
}

#endif
