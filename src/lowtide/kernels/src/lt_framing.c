/* SPDX-License-Identifier: Apache-2.0 */
/* lt_framing.c: see lt_framing.h. */
#include "lt_framing.h"

#include <string.h>

static void copy(int16_t *to, const int16_t *from, uint32_t count)
{
    if (count != 0) {
        (void)memmove(to, from, count * sizeof *to);
    }
}

static void clear(int16_t *to, uint32_t count)
{
    (void)memset(to, 0, count * sizeof *to);
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
    uint8_t is_valid = 1;
    if ((p->waits != 0) && (held[p->held] < p->waits)) {
        uint32_t steps = (uint32_t)held[p->held] + p->frames;
        is_valid = (held[p->held] + 1) == p->waits;
        held[p->held] = (int16_t)((steps < p->waits) ? steps : p->waits);
    }
    for (uint32_t i = 0; i < p->frames; i++) {
        if (is_valid != 0) {
            copy(out, held, p->held);
            copy(out + p->held, in, (uint32_t)(p->size - p->held));
        } else {
            clear(out, p->size);
        }
        append(held, p->held, in, p->hop);
        in += p->hop;
        out += p->size;
    }
    if (valid != 0) {
        *valid = is_valid;
    }
}

LT_SHARED void lt_delay_row(const void *params, const lt_step *step)
{
    const lt_delay *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    int16_t *held = step->out[1];
    uint32_t old = (p->delay < p->count) ? p->delay : p->count;
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
            int32_t sum = in[i] + ((i < rest) ? held[i] : 0);
            sum = (sum < INT16_MIN) ? INT16_MIN : (sum > INT16_MAX) ? INT16_MAX : sum;
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
    int16_t *out = step->out[0];
    uint8_t *valid = step->out[1];
    int16_t *held = step->out[2];
    uint32_t one = p->channels;
    int16_t *state = held + (uint32_t)(p->size - 1) * one;
    uint32_t count = (*state == 0) ? 0 : ((uint32_t)*state - 1);
    for (uint32_t more = (*state == 0) ? p->first : 0; more != 0; more--, count++) {
        copy(held + (count * one), step->in[0], one);
    }
    *valid = (count + 1) == p->size;
    if ((count + 1) == p->size) {
        copy(out, held, count * one);
        copy(out + (count * one), step->in[0], one);
        count = (uint32_t)(p->size - p->hop);
        copy(held, out + (p->hop * one), count * one);
    } else {
        clear(out, p->size * one);
        copy(held + (count * one), step->in[0], one);
        count++;
    }
    *state = (int16_t)(count + 1);
}
