/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_u8.c: see lt_depthwise_u8.h. */
#include "lt_depthwise_u8.h"

#include <stddef.h>

#include "lt_fixed.h"

/* The sum, modulo 2^32, of one output channel's products at the window that begins in column `first`. */
static uint32_t window(const lt_depthwise_u8 *p, const void *const *rows, int32_t first, int32_t in,
                       const uint8_t *weight)
{
    uint32_t sum = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const uint8_t *row = rows[ky];
        int32_t column = first;
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            if (row != NULL && column >= 0 && column < p->in_w) {
                int32_t x = row[column * p->in_c + in] - p->input_zero;
                sum += (uint32_t)(x * (*weight - p->weights_zero));
            }
            weight += p->in_c * p->filters;
            column += p->dilation_w;
        }
    }
    return sum;
}

LT_SHARED void lt_depthwise_u8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_u8 *p = params;
    uint8_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++) {
        int32_t first = x * p->stride_w - p->pad_left;
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->filters);
        for (int32_t in = 0, c = 0; in < p->in_c; in++) {
            for (int32_t end = c + p->filters; c < end; c++) {
                uint32_t sum = window(p, step->in, first, in, p->weights + c);
                int32_t y = lt_scale((int32_t)(sum + (uint32_t)p->bias[c]), p->multiplier, p->shift);
                *out++ = (uint8_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
            }
        }
    }
}
