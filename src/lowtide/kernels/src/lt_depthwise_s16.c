/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_s16.c: see lt_depthwise_s16.h. */
#include "lt_depthwise_s16.h"

#include <stddef.h>

#include "lt_fixed.h"

/* One output channel's sum at the window that begins in column `first`. */
static int64_t window(const lt_depthwise_s16 *p, const void *const *rows, int32_t first, int32_t in,
                      const int8_t *weight)
{
    int64_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int16_t *row = rows[ky];
        int32_t column = first;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            if (row != NULL && column >= 0 && column < p->in_w) {
                sum += row[column * p->in_c + in] * *weight;
            }
            weight += p->in_c * p->filters;
            column += p->dilation_w;
        }
    }
    return sum;
}

LT_SHARED void lt_depthwise_s16_row(const void *params, const lt_step *step)
{
    const lt_depthwise_s16 *p = params;
    int16_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++) {
        int32_t first = x * p->stride_w - p->pad_left;
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->filters);
        for (int32_t in = 0, c = 0; in < p->in_c; in++) {
            for (int32_t end = c + p->filters; c < end; c++) {
                int64_t sum = window(p, step->in, first, in, p->weights + c) + p->bias[c];
                int32_t y = lt_scale_wide(sum, p->multiplier[c], p->shift[c]);
                *out++ = (int16_t)lt_clamp(y, p->low, p->high);
            }
        }
    }
}
