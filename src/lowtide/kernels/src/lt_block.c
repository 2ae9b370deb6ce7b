/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block.c: see lt_block.h. */
#include "lt_block.h"

#include <stddef.h>
#include <string.h>

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int8_t *past(int8_t *at, int32_t bytes)
{
    return at + ((bytes + 3) & ~3);
}

static void depthwise(const lt_depthwise_quick_s8 *p, int32_t lean, const lt_step *step)
{
    if (lean) {
        lt_depthwise_quick_s8_plain(p, step);
    } else {
        lt_depthwise_quick_s8_row(p, step);
    }
}

/* Expand columns `first` to `last` - 1 of a row into `to`. */
static void expand(const lt_block_s8 *p, const void *row, int32_t first, int32_t last, void *to,
                   void *scratch)
{
    lt_conv_packed_s8 part = *p->expand;
    const void *in = (const int8_t *)row + first * part.in_c;
    lt_step step = {&in, &to, scratch, 0};
    part.out_w = (uint16_t)(last - first);
    if (last > first) {
        lt_conv_packed_s8_row(&part, &step);
    }
}

static int32_t inside(const lt_block_s8 *p, int32_t column)
{
    return column < 0 ? 0 : smaller(column, p->in_w);
}

LT_SHARED void lt_block_s8_row(const void *params, const lt_step *step)
{
    const lt_block_s8 *p = params;
    lt_depthwise_quick_s8 core = *p->depthwise;
    const void *rows[LT_BLOCK_ROWS];
    int32_t size = core.channels, kept = p->kept, fresh = core.kernel_h - kept;
    int32_t moved = p->piece * core.stride_w, width = moved - core.stride_w + core.kernel_w;
    int32_t top = (step->row - p->ahead) * p->stride_h - p->pad_top; /* the window's first row */
    int32_t room = smaller(width, p->in_w) * size;
    int8_t *windows = step->scratch;
    int8_t *between = past(windows, fresh * room);
    void *scratch = p->project != NULL ? past(between, p->piece * size) : between;
    int8_t *out = step->out[0];
    void *made = between;
    lt_step inner = {rows, &made, scratch, 0};
    /* A piece reads columns `low` to `high` - 1; those before `old` are there from the last one. */
    for (int32_t x = 0, old = 0, low = 0; x < p->pieces; x++) {
        int32_t first = x * moved - p->pad_left, before = low;
        int32_t high = inside(p, first + width), next = inside(p, first + moved);
        low = inside(p, first);
        core.pad_left = (int16_t)(low - first);
        core.in_w = (uint16_t)(high - low);
        if (x + 1 == p->pieces) {
            next = high; /* nothing is read again */
        }
        for (int32_t i = 0; i < fresh; i++) {
            int8_t *window = windows + i * room;
            rows[kept + i] = NULL;
            if (step->in[i] != NULL) {
                memmove(window, window + (low - before) * size, (size_t)((old - low) * size));
                expand(p, step->in[i], old, high, window + (old - low) * size, scratch);
                rows[kept + i] = window;
#ifdef LT_TRACE
                if (step->row == 0 || i >= fresh - p->stride_h) { /* made for the first time */
                    lt_trace_inner(0, (top + kept + i) * p->pieces + x, window + (old - low) * size,
                                   (high - old) * size);
                }
#endif
            }
        }
        for (int32_t i = 0; i < kept; i++) {
            int32_t y = top + i;
            rows[i] = NULL;
            if (y >= 0 && y < p->in_h) {
                rows[i] = (int8_t *)step->out[1 + y % kept] + low * size;
            }
        }
        if (out != NULL) {
            made = p->project != NULL ? between : out;
            depthwise(&core, p->lean, &inner);
#ifdef LT_TRACE
            lt_trace_inner(1, (step->row - p->ahead) * p->pieces + x, made, p->piece * size);
#endif
            if (p->project != NULL) {
                const void *pixels = between;
                void *to = out;
                lt_step last = {&pixels, &to, scratch, 0};
                lt_conv_packed_s8_row(p->project, &last);
                out += p->piece * p->project->out_c;
            } else {
                out += p->piece * size;
            }
        }
        for (int32_t i = fresh > kept ? fresh - kept : 0; i < fresh; i++) {
            int32_t y = top + kept + i;
            if (rows[kept + i] != NULL && kept > 0) {
                memcpy((int8_t *)step->out[1 + y % kept] + low * size, rows[kept + i],
                       (size_t)((next - low) * size));
            }
        }
        old = high;
    }
}

LT_SHARED void lt_separable_s8_row(const void *params, const lt_step *step)
{
    const lt_separable_s8 *p = params;
    lt_depthwise_quick_s8 core = *p->depthwise;
    void *between = step->scratch, *to = step->out[0];
    const void *pixels = between;
    void *scratch = past(step->scratch, core.out_w * core.channels);
    lt_step first = {step->in, &between, scratch, 0}, last = {&pixels, &to, scratch, 0};
    for (int32_t x = 0; x < p->pieces; x++) {
        depthwise(&core, p->lean, &first);
#ifdef LT_TRACE
        lt_trace_inner(1, step->row * p->pieces + x, between, core.out_w * core.channels);
#endif
        lt_conv_packed_s8_row(p->project, &last);
        core.pad_left = (int16_t)(core.pad_left - core.out_w * core.stride_w);
        to = (int8_t *)to + core.out_w * p->project->out_c;
    }
}
