/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise.c: see lt_depthwise.h. */
#include "lt_depthwise.h"

#include <stddef.h>

#include "lt_fixed.h"

/* The window of one output pixel: columns kx0 to kx1 - 1 of the kernel are inside the image, the first
 * of them at column `column` of it. */
typedef struct {
    int32_t column, kx0, kx1;
} window;

/* Four output channels of one pixel, c and those `next` behind each other (1, or 0 for the same one). */
static void channels(const lt_depthwise_s8 *p, const void *const *rows, window at, int32_t c, int32_t next,
                     int8_t *out)
{
    int32_t out_c = p->in_c * p->filters, stride = p->dilation_w * p->in_c, zero = p->input_zero;
    int32_t in0 = c / p->filters, in1 = ((c + next) / p->filters) - in0;
    int32_t in2 = ((c + (2 * next)) / p->filters) - in0, in3 = ((c + (3 * next)) / p->filters) - in0;
    int32_t sums[4];
    for (int32_t i = 0; i < 4; i++) {
        sums[i] = p->bias[c + (next * i)];
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *x = rows[ky];
        const int8_t *w = p->weights + (((ky * p->kernel_w) + at.kx0) * out_c) + c;
        int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
        if (x == NULL) {
            continue;
        }
        x += (at.column * p->in_c) + in0;
        for (int32_t n = at.kx1 - at.kx0; n > 0; n--, x += stride, w += out_c) {
            s0 = lt_add(s0, (x[0] - zero) * w[0]);
            s1 = lt_add(s1, (x[in1] - zero) * w[next]);
            s2 = lt_add(s2, (x[in2] - zero) * w[2 * next]);
            s3 = lt_add(s3, (x[in3] - zero) * w[3 * next]);
        }
        sums[0] = s0;
        sums[1] = s1;
        sums[2] = s2;
        sums[3] = s3;
    }
    for (int32_t i = 0; i <= (3 * next); i++) {
        int32_t y = lt_scale(sums[i], p->multiplier[c + i], p->shift[c + i]);
        out[c + i] = (int8_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
    }
}

LT_SHARED void lt_depthwise_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_s8 *p = params;
    int32_t out_c = p->in_c * p->filters, next = (out_c < 4) ? 0 : 1;
    int8_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++, out += out_c) {
        window at = {(x * p->stride_w) - p->pad_left, 0, p->kernel_w};
        LT_MACS(p->kernel_h * p->kernel_w * out_c);
        for (; (at.column < 0) && (at.kx0 < at.kx1); at.kx0++) {
            at.column += p->dilation_w;
        }
        while ((at.kx1 > at.kx0) && ((at.column + ((at.kx1 - 1 - at.kx0) * p->dilation_w)) >= p->in_w)) {
            at.kx1--;
        }
        for (int32_t c = 0; c < out_c; c += 1 + (3 * next)) {
            channels(p, step->in, at, ((next != 0) && (c > (out_c - 4))) ? (out_c - 4) : c, next, out);
        }
    }
}
