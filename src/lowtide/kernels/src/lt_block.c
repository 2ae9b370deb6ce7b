/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block.c: see lt_block.h. */
#include "lt_block.h"

#include <stddef.h>
#include <string.h>

static int32_t smaller(int32_t a, int32_t b)
{
    return (a < b) ? a : b;
}

static int8_t *past(int8_t *at, int32_t bytes)
{
    return at + ((bytes + 3) & ~3);
}

/* Where what the depthwise convolution makes of `n` pixels lies, whose output goes to `out`. */
static void *read_by_project(const lt_block *b, int32_t n, int8_t *out, void *between)
{
    return (b->in_place != 0) ? (out + n * (b->out_c - b->channels)) : between;
}

static int32_t inside(const lt_block *b, int32_t column)
{
    return (column < 0) ? 0 : smaller(column, b->in_w);
}

LT_SHARED void lt_block_run(const lt_block *b, const lt_step *step)
{
    const void *rows[LT_BLOCK_ROWS];
    int32_t size = b->channels, kept = b->kept, fresh = b->kernel_h - kept;
    int32_t width = (b->piece - 1) * b->stride_w + b->kernel_w;
    int32_t top = ((step->row - b->ahead) * b->stride_h) - b->pad_top; /* the window's first row */
    int32_t room = smaller(width, b->in_w) * size;
    int8_t *windows = step->scratch;
    int8_t *between = past(windows, fresh * room);
    int32_t apart = (b->project != NULL) && (b->in_place == 0);
    void *scratch = (apart != 0) ? past(between, b->piece * size) : between;
    int8_t *out = step->out[0];
    void *made = between;
    lt_step inner = {rows, &made, scratch, 0};
    /* A piece reads columns `low` to `high` - 1; those before `old` are there from the last one. */
    for (int32_t x = 0, old = 0, low = 0, n; x < b->out_w; x += n) {
        n = smaller(b->piece, b->out_w - x);
        int32_t first = (x * b->stride_w) - b->pad_left, before = low;
        int32_t high = inside(b, first + (n - 1) * b->stride_w + b->kernel_w);
        int32_t next = inside(b, first + n * b->stride_w);
        low = inside(b, first);
        if ((x + n) == b->out_w) {
            next = high; /* nothing is read again */
        }
        for (int32_t i = 0; i < fresh; i++) {
            int8_t *window = windows + (i * room);
            rows[kept + i] = NULL;
            if (step->in[i] != NULL) {
                const void *in = (const int8_t *)step->in[i] + (old * b->in_c);
                void *to = window + (old - low) * size;
                lt_step expanding = {(b->in_c != 0) ? &in : &step->in[i], &to, scratch, 0};
                (void)memmove(window, window + (low - before) * size, (size_t)((old - low) * size));
                if (high > old) {
                    b->expand(b, old, high - old, &expanding);
#ifdef LT_TRACE
                    if (step->row == b->ahead || i >= fresh - b->stride_h) { /* made for the first time */
                        lt_trace_inner(0, (top + kept + i) * b->in_w + old, to, (high - old) * size);
                    }
#endif
                }
                rows[kept + i] = window;
            }
        }
        for (int32_t i = 0; i < kept; i++) {
            int32_t y = top + i;
            rows[i] = NULL;
            if ((y >= 0) && (y < b->in_h)) {
                rows[i] = (int8_t *)step->out[1 + (y % kept)] + (low * size);
            }
        }
        if (out != NULL) {
            made = (b->project != NULL) ? read_by_project(b, n, out, between) : out;
            b->depthwise(b, n, low - first, high - low, &inner);
#ifdef LT_TRACE
            lt_trace_inner(1, (step->row - b->ahead) * b->out_w + x, made, n * size);
#endif
            if (b->project != NULL) {
                const void *pixels = made;
                void *to = out;
                lt_step last = {&pixels, &to, scratch, 0};
                b->project(b, n, &last);
            }
            out += n * b->out_c;
        }
        for (int32_t i = (fresh > kept) ? (fresh - kept) : 0; i < fresh; i++) {
            int32_t y = top + kept + i;
            if ((rows[kept + i] != NULL) && (kept > 0)) {
                (void)memcpy((int8_t *)step->out[1 + (y % kept)] + (low * size), rows[kept + i],
                             (size_t)((next - low) * size));
            }
        }
        old = high;
    }
}

LT_SHARED void lt_separable_run(const lt_block *b, const lt_step *step)
{
    void *between = step->scratch, *to = step->out[0];
    const void *pixels = between;
    void *scratch = (b->in_place != 0) ? between : past(between, b->piece * b->channels);
    lt_step first = {step->in, &between, scratch, 0}, last = {&pixels, &to, scratch, 0};
    for (int32_t x = 0, n; x < b->out_w; x += n) {
        n = smaller(b->piece, b->out_w - x);
        between = read_by_project(b, n, to, between);
        pixels = between;
        b->depthwise(b, n, b->pad_left - (x * b->stride_w), b->in_w, &first);
#ifdef LT_TRACE
        lt_trace_inner(1, (step->row - b->ahead) * b->out_w + x, between, n * b->channels);
#endif
        b->project(b, n, &last);
        to = (int8_t *)to + (n * b->out_c);
    }
}

static void expand(const lt_block *b, int32_t from, int32_t columns, const lt_step *step)
{
    (void)from; /* it reads nothing beyond its columns */
    lt_conv_packed_s8 part = *((const lt_block_s8 *)b->params)->expand;
    part.out_w = (uint16_t)columns;
    lt_conv_packed_s8_row(&part, step);
}

static void project(const lt_block *b, int32_t columns, const lt_step *step)
{
    lt_conv_packed_s8 part = *((const lt_block_s8 *)b->params)->project;
    part.out_w = (uint16_t)columns;
    lt_conv_packed_s8_row(&part, step);
}

static void depthwise(const lt_block *b, int32_t columns, int32_t pad_left, int32_t in_w,
                      const lt_step *step)
{
    const lt_block_s8 *p = b->params;
    lt_depthwise_mult1_s8 part = *p->depthwise;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    if (p->lean != 0U) {
        lt_depthwise_mult1_s8_plain(&part, step);
    } else {
        lt_depthwise_mult1_s8_row(&part, step);
    }
}

LT_SHARED lt_block lt_block_s8_of(const void *params)
{
    const lt_block_s8 *p = params;
    const lt_depthwise_mult1_s8 *core = p->depthwise;
    lt_block of = {p,
                   expand,
                   (p->project != NULL) ? project : NULL,
                   depthwise,
                   LT_BLOCK_SHAPE(p),
                   core->stride_w,
                   core->kernel_h,
                   core->kernel_w,
                   core->channels,
                   (p->expand != NULL) ? p->expand->in_c : core->channels,
                   (p->project != NULL) ? p->project->out_c : core->channels,
                  0,
                  NULL};
    return of;
}

LT_SHARED void lt_block_s8_row(const void *params, const lt_step *step)
{
    lt_block of = lt_block_s8_of(params);
    lt_block_run(&of, step);
}

LT_SHARED void lt_separable_s8_row(const void *params, const lt_step *step)
{
    lt_block of = lt_block_s8_of(params);
    lt_separable_run(&of, step);
}
