/* SPDX-License-Identifier: Apache-2.0 */
/* lt_framing.c: see lt_framing.h. */
#include "lt_framing.h"

#include <string.h>

static void copy(int16_t *to, const int16_t *from, uint32_t count)
{
    if (count != 0) {
        memmove(to, from, count * sizeof *to);
    }
}

static void clear(int16_t *to, uint32_t count)
{
    memset(to, 0, count * sizeof *to);
}

/* `held` becomes the last `count` of itself and `more` new samples. */
static void append(int16_t *held, uint32_t count, const int16_t *in, uint32_t more)
{
    if (more < count) {
        copy(held, held + more, count - more);
        copy(held + (count - more), in, more);
    } else {
        copy(held, in + (more - count), count);
    }
}

LT_SHARED void lt_framer_row(const void *params, const lt_step *step)
{
    const lt_framer *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    uint8_t *valid = step->out[1];
    int16_t *held = step->out[2];
    uint8_t all = 1;
    for (uint32_t i = 0; i < p->frames; i++) {
        if (p->waits != 0 && held[p->held] < p->waits) {
            held[p->held]++;
        }
        if (p->waits != 0 && held[p->held] < p->waits) {
            clear(out, p->size);
            all = 0;
        } else {
            copy(out, held, p->held);
            copy(out + p->held, in, (uint32_t)(p->size - p->held));
        }
        append(held, p->held, in, p->hop);
        in += p->hop;
        out += p->size;
    }
    if (valid != 0) {
        *valid = all;
    }
}

LT_SHARED void lt_delay_row(const void *params, const lt_step *step)
{
    const lt_delay *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    int16_t *held = step->out[1];
    uint32_t old = p->delay < p->count ? p->delay : p->count;
    copy(out, held, old);
    copy(out + old, in, p->count - old);
    append(held, p->delay, in, p->count);
}

LT_SHARED void lt_overlap_add_row(const void *params, const lt_step *step)
{
    const lt_overlap_add *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    int16_t *held = step->out[1];
    uint32_t rest = (uint32_t)(p->size - p->hop);
    for (uint32_t frame = 0; frame < p->frames; frame++) {
        for (uint32_t i = 0; i < p->size; i++) {
            int32_t sum = in[i] + (i < rest ? held[i] : 0);
            sum = sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum;
            if (i < p->hop) {
                out[i] = (int16_t)sum;
            } else {
                held[i - p->hop] = (int16_t)sum;
            }
        }
        in += p->size;
        out += p->hop;
    }
}

LT_SHARED void lt_stacker_row(const void *params, const lt_step *step)
{
    const lt_stacker *p = params;
    uint8_t *valid = step->out[1];
    int16_t *frames = step->out[2];
    uint32_t one = p->channels;
    uint32_t size = p->size;
    int16_t *held = frames + (size + p->hop - 1) * one;
    uint32_t count = (uint32_t)*held;
    uint32_t times = count == 0 ? 1U + p->first : 1U;
    uint8_t is_new = 0;
    if (count == size + p->hop - 1) { /* the last that a new stack waits for */
        copy(frames, frames + p->hop * one, (size - 1) * one);
        copy(frames + (size - 1) * one, step->in[0], one);
        count = size;
        is_new = 1;
    } else {
        for (; times != 0; times--, count++) {
            copy(frames + count * one, step->in[0], one);
        }
        is_new = count == size;
    }
    *held = (int16_t)count;
    if (count < size) {
        clear(step->out[0], size * one);
    } else {
        copy(step->out[0], frames, size * one);
    }
    *valid = is_new;
}
