/* SPDX-License-Identifier: Apache-2.0 */
/* lt_transpose_conv_s16.c: see lt_transpose_conv_s16.h. */
#include "lt_transpose_conv_s16.h"

#include <stddef.h>

#include "lt_fixed.h"

/* What input row `row` adds to output column x; `weights` is the kernel's row that meets it. */
static int64_t across(const lt_transpose_conv_s16 *p, const int16_t *row, int32_t x,
                      const int8_t *weights)
{
    int32_t reach = x + p->pad_left;
    int32_t column = reach / p->stride_w;
    int64_t sum = 0;
    for (int32_t kx = reach % p->stride_w; (kx < p->kernel_w) && (column >= 0); kx += p->stride_w) {
        if (column < p->in_w) {
            sum += lt_dot_s16(row + (column * p->in_c), weights + (kx * p->in_c), p->in_c);
        }
        column--;
    }
    return sum;
}

LT_SHARED void lt_transpose_conv_s16_row(const void *params, const lt_step *step)
{
    const lt_transpose_conv_s16 *p = params;
    int16_t *out = step->out[0];
    int32_t line = p->kernel_w * p->in_c; /* weights per row of the kernel */
    int32_t first = (step->row + p->pad_top) % p->stride_h;
    for (int32_t x = 0; x < p->out_w; x++) {
        const int8_t *weights = p->weights;
        for (int32_t c = 0; c < p->out_c; c++) {
            int64_t sum = p->bias[c];
            int32_t ky = first;
            for (int32_t k = p->rows - 1; (k >= 0) && (ky < p->kernel_h); k--) {
                if (step->in[k] != NULL) {
                    sum += across(p, step->in[k], x, weights + (ky * line));
                }
                ky += p->stride_h;
            }
            weights += p->kernel_h * line;
            int32_t y = lt_scale_wide(sum, p->multiplier[c], p->shift[c]);
            *out++ = (int16_t)lt_clamp(y, p->low, p->high);
        }
    }
}
