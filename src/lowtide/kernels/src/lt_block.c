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

/* Expand columns `first` to `last` - 1 of a row, counted from the padding's left edge, into `to`. */
static void expand(const lt_block_s8 *p, const void *row, int32_t first, int32_t last, int8_t *to,
                   void *scratch)
{
    lt_conv_packed_s8 part = *p->expand;
    int32_t size = part.out_c, inside = last - first;
    int32_t from = first - p->pad_left, end = last - p->pad_left;
    int32_t before = from < 0 ? smaller(-from, inside) : 0;
    int32_t after = end > p->in_w ? smaller(end - p->in_w, inside - before) : 0;
    inside -= before + after;
    const void *in = (const int8_t *)row + (from + before) * part.in_c;
    void *out = to + before * size;
    lt_step step = {&in, &out, scratch, 0};
    memset(to, p->depthwise->input_zero, (size_t)(before * size));
    if (inside > 0) {
        part.out_w = (uint16_t)inside;
        lt_conv_packed_s8_row(&part, &step);
    }
    memset(to + (before + inside) * size, p->depthwise->input_zero, (size_t)(after * size));
}

void lt_block_s8_row(const void *params, const lt_step *step)
{
    const lt_block_s8 *p = params;
    const lt_depthwise_quick_s8 *core = p->depthwise;
    const void *rows[LT_BLOCK_ROWS];
    int32_t size = core->channels, kept = p->kept, fresh = core->kernel_h - kept;
    int32_t width = core->in_w, moved = p->piece * core->stride_w; /* columns a piece reads; is on */
    int32_t top = (step->row - p->ahead) * p->stride_h - p->pad_top; /* the window's first row */
    int8_t *windows = step->scratch;
    int8_t *between = past(windows, fresh * width * size);
    void *scratch = p->project != NULL ? past(between, p->piece * size) : between;
    int8_t *out = step->out[0];
    void *made = between;
    lt_step inner = {rows, &made, scratch, 0};
    for (int32_t x = 0, have = 0; x < p->pieces; x++, have = width - moved) {
        int32_t column = x * moved;
        int32_t done = x + 1 < p->pieces ? moved : width; /* columns that no later piece reads */
        for (int32_t i = 0; i < fresh; i++) {
            int8_t *window = windows + i * width * size;
            rows[kept + i] = NULL;
            if (step->in[i] != NULL) {
                memmove(window, window + moved * size, (size_t)(have * size));
                expand(p, step->in[i], column + have, column + width, window + have * size, scratch);
                rows[kept + i] = window;
            }
        }
        for (int32_t i = 0; i < kept; i++) {
            int32_t y = top + i;
            rows[i] = NULL;
            if (y >= 0 && y < p->in_h) {
                rows[i] = (int8_t *)step->out[1 + y % kept] + column * size;
            }
        }
        if (out != NULL) {
            made = p->project != NULL ? between : out;
            inner.in = rows;
            depthwise(core, p->lean, &inner);
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
                memcpy((int8_t *)step->out[1 + y % kept] + column * size, rows[kept + i],
                       (size_t)(done * size));
            }
        }
    }
}

void lt_separable_s8_row(const void *params, const lt_step *step)
{
    const lt_separable_s8 *p = params;
    lt_depthwise_quick_s8 core = *p->depthwise;
    void *between = step->scratch, *to = step->out[0];
    const void *pixels = between;
    void *scratch = past(step->scratch, core.out_w * core.channels);
    lt_step first = {step->in, &between, scratch, 0}, last = {&pixels, &to, scratch, 0};
    for (int32_t x = 0; x < p->pieces; x++) {
        depthwise(&core, p->lean, &first);
        lt_conv_packed_s8_row(p->project, &last);
        core.pad_left = (int16_t)(core.pad_left - core.out_w * core.stride_w);
        to = (int8_t *)to + core.out_w * p->project->out_c;
    }
}
