/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise.c: see lt_depthwise.h. */
#include "lt_depthwise.h"

#include <stddef.h>

#include "lt_fixed.h"

/* The sum, modulo 2^32, of one output channel's products at the window that begins in column `first`. */
static uint32_t window(const lt_depthwise_s8 *p, const void *const *rows, int32_t first, int32_t c)
{
    int32_t out_c = p->in_c * p->filters;
    const int8_t *weight = p->weights + c;
    uint32_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *row = rows[ky];
        int32_t column = first;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            if (row != NULL && column >= 0 && column < p->in_w) {
                sum += (uint32_t)(*weight * (row[column * p->in_c + c / p->filters] - p->input_zero));
            }
            weight += out_c;
            column += p->dilation_w;
        }
    }
    return sum;
}

LT_SHARED void lt_depthwise_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_s8 *p = params;
    int8_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++) {
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->filters);
        for (int32_t c = 0; c < p->in_c * p->filters; c++) {
            int32_t first = x * p->stride_w - p->pad_left;
            int32_t sum = (int32_t)(window(p, step->in, first, c) + (uint32_t)p->bias[c]);
            int32_t y = lt_scale(sum, p->multiplier[c], p->shift[c]);
            *out++ = (int8_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
        }
    }
}
