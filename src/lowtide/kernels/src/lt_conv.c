/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv.c: see lt_conv.h. */
#include "lt_conv.h"

#include "lt_dots.h"
#include "lt_fixed.h"
#include "lt_window.h"

/* Four output channels of one group, from c on. */
static void make(const lt_conv_s8 *p, const int8_t *window, int32_t c, int8_t *out)
{
    int32_t taps = p->kernel_h * p->kernel_w, filters = p->out_c / p->groups;
    int32_t depth = p->in_c / p->groups; /* channels that one filter reads */
    const int8_t *weights = p->weights + (c * taps * depth);
    lt_four to = lt_four_of(filters, taps * depth);
    int32_t sums[4];
    window += c / filters * depth;
    for (int32_t i = 0; i < 4; i++) {
        sums[i] = p->bias[c + to.of[i]];
    }
    if (p->groups == 1) { /* its pixels are side by side */
        depth *= taps;
        taps = 1;
    }
    for (int32_t tap = 0; tap < taps; tap++) {
        lt_dots_s8(sums, weights + (tap * depth), to.next, window + (tap * p->in_c), depth, to.other);
    }
    for (int32_t i = 0; i < 4; i++) {
        int32_t at = c + to.of[i];
        if (lt_four_is_new(&to, i) != 0) {
            int32_t y = lt_scale(sums[i], p->multiplier[at], p->shift[at]);
            out[at] = (int8_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
        }
    }
}

LT_SHARED void lt_conv_s8_row(const void *params, const lt_step *step)
{
    const lt_conv_s8 *p = params;
    const int8_t *input = step->in[0];
    int8_t *patch = step->scratch;
    int8_t *out = step->out[0];
    int32_t taps = p->kernel_h * p->kernel_w, filters = p->out_c / p->groups;
    for (int32_t x = 0; x < p->out_w; x++, out += p->out_c) {
        const int8_t *window = patch;
        LT_MACS(taps * (p->in_c / p->groups) * p->out_c);
        if (taps == 1) {
            window = input + (x * p->stride_w * p->in_c);
        } else {
            (void)LT_GATHER(p, step->in, x, p->in_c, p->input_zero ^ p->flip, patch);
            if (p->flip != 0) {
                lt_flip_bytes(patch, taps * p->in_c);
            }
        }
        for (int32_t c = 0; c < p->out_c; c += filters) {
            for (int32_t i = 0; i < filters; i += 4) {
                make(p, window, c + lt_four_first(i, filters), out);
            }
        }
    }
}
