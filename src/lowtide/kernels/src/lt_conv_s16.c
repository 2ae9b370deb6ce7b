/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_s16.c: see lt_conv_s16.h. */
#include "lt_conv_s16.h"

#include <stddef.h>

#include "lt_fixed.h"
#include "lt_window.h"

static int32_t scaled(const lt_conv_s16 *p, int32_t c, int64_t sum)
{
    if (p->bias != NULL) {
        return lt_scale_wide(sum + p->bias[c], p->multiplier[c], p->shift[c]);
    }
    return lt_scale((int32_t)((uint32_t)sum + (uint32_t)p->bias_32[c]), p->multiplier[c], p->shift[c]);
}

LT_SHARED void lt_conv_s16_row(const void *params, const lt_step *step)
{
    const lt_conv_s16 *p = params;
    const int16_t *input = step->in[0];
    int16_t *patch = step->scratch;
    int16_t *out = step->out[0];
    int32_t taps = p->kernel_h * p->kernel_w;
    int32_t depth = p->in_c / p->groups; /* channels that one filter reads */
    int32_t filters = p->out_c / p->groups;
    int32_t runs = (p->groups == 1) ? 1 : taps, run = (p->groups == 1) ? (taps * depth) : depth; /* side by side */
    for (int32_t x = 0; x < p->out_w; x++) {
        const int16_t *window = patch;
        LT_MACS(taps * depth * p->out_c);
        if (taps == 1) {
            window = input + (x * p->stride_w * p->in_c);
        } else {
            (void)LT_GATHER(p, step->in, x, p->in_c * (int32_t)sizeof *patch, 0, (int8_t *)patch);
        }
        for (int32_t c = 0; c < p->out_c; c++) {
            const int8_t *weights = p->weights + (c * taps * depth);
            int64_t sum = 0;
            for (int32_t tap = 0; tap < runs; tap++, weights += run) {
                sum += lt_dot_s16(window + (tap * p->in_c) + (c / filters * depth), weights, run);
            }
            int32_t y = lt_add(scaled(p, c, sum), p->output_zero);
            *out++ = (int16_t)lt_clamp(y, p->low, p->high);
        }
    }
}
