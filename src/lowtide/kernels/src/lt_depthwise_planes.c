/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_planes.c: see lt_depthwise_planes.h. What lt_depthwise_planes_helium.c has in vectors is
 * here in plain C, too: it says what that does, and stands in for it on other cores. */
#include "lt_depthwise_planes.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

LT_INLINE void row(const lt_depthwise_planes_s8 *p, const lt_step *step, void (*run)(lt_planes *))
{
    int32_t channels = p->channels, height = p->kernel_h, stride = p->stride_w, nulls = 0;
    int32_t piece = (p->piece < p->out_w) ? p->piece : p->out_w;
    int32_t plane = height * (((piece - 1) * stride) + p->kernel_w);
    lt_planes of = {step->scratch, plane, NULL, NULL, channels, p->output_zero, stride * height, piece,
                    height * p->kernel_w, step->in, height, 0, 0, 0, p->low, p->high};
    LT_MACS(p->out_w * of.taps * channels);
    for (int32_t ky = 0; ky < height; ky++) {
        nulls |= step->in[ky] == NULL;
    }
    for (int32_t x = 0; x < p->out_w; x += piece) {
        int32_t first = (x * stride) - p->pad_left;
        of.pixels = ((p->out_w - x) < piece) ? (p->out_w - x) : piece;
        int32_t columns = ((of.pixels - 1) * stride) + p->kernel_w, to = p->in_w - first;
        of.from = (first < 0) ? -first : 0;
        to = (to < columns) ? to : columns;
        of.columns = (to > of.from) ? (to - of.from) : 0;
        of.offset = (first + of.from) * channels;
        of.record = p->records;
        of.out = (int8_t *)step->out[0] + (x * channels);
        if (nulls || (of.columns < columns)) {
            lt_planes_fill(of.planes, p->input_zero, 4 * plane);
        }
        run(&of);
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

LT_SHARED void lt_planes_run(lt_planes *of)
{
    for (int32_t c = 0; c < of->pitch; c++, of->out++) {
        int32_t four = c & ~3; /* the last record is of the last four, of which some are made already */
        int32_t lane = c - (((four > 0) && ((four + 4) > of->pitch)) ? (of->pitch - 4) : four);
        const int32_t *record = of->record + (c >> 2) * (of->taps + 12);
        const int8_t *w = (const int8_t *)record + (lane * of->taps);
        const int32_t *scale = record + of->taps + lane;
        int8_t *plane = of->planes + (lane * of->plane);
        for (int32_t ky = 0; ky < of->kernel_h; ky++) {
            const int8_t *in = of->rows[ky];
            for (int32_t x = 0; (x < of->columns) && (in != NULL); x++) {
                plane[((of->from + x) * of->kernel_h) + ky] = in[of->offset + (x * of->pitch) + c];
            }
        }
        for (int32_t x = 0; x < of->pixels; x++) {
            int32_t sum = scale[0];
            for (int32_t i = 0; i < of->taps; i++) {
                sum += plane[(x * of->advance) + i] * w[i];
            }
            sum = lt_add(lt_scale(sum, scale[4], scale[8]), of->zero);
            of->out[x * of->pitch] = (int8_t)lt_clamp(sum, of->low, of->high);
        }
    }
}

LT_SHARED void lt_planes_run_any(lt_planes *of)
{
    lt_planes_run(of);
}

#endif
