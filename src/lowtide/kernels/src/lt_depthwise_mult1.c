/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_mult1.c: see lt_depthwise_mult1.h. Plain C, and all there is on cores without Arm's DSP
 * extension. */
#include "lt_depthwise_mult1.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

/* The window of one output pixel: columns kx0 to kx1 - 1 of the kernel are inside the image, the first
 * of them at column `column` of it. */
typedef struct {
    int32_t column, kx0, kx1;
} window;

static inline int8_t scaled(const lt_depthwise_mult1_s8 *p, int32_t c, int32_t sum, int32_t any)
{
    int32_t shift = p->shift[c], y;
    if (any != 0) {
        y = lt_add(lt_scale(lt_add(p->bias[c], sum), p->multiplier[c], shift), p->centre >> 1);
        return (int8_t)lt_clamp(y, p->low, p->high);
    }
    y = lt_narrow(lt_add(p->bias[c], lt_add(sum, sum)), p->multiplier[c],
                          lt_centre(p->centre, shift), shift);
    return (int8_t)lt_clamp(y, p->low, p->high);
}

/* `block` channels, 4 or 1, of one pixel, from c on, with `any` factors or narrow ones; both are known when
 * this is compiled. */
LT_INLINE void channels(const lt_depthwise_mult1_s8 *p, const void *const *rows, window at,
                            int32_t c, int32_t block, int32_t any, int8_t *out)
{
    int32_t next = p->channels, stride = p->dilation_w * next, zero = p->input_zero;
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *x = rows[ky];
        const int8_t *w = p->weights + (((ky * p->kernel_w) + at.kx0) * next) + c;
        if (x == NULL) {
            continue;
        }
        x += (at.column * next) + c;
        for (int32_t n = at.kx1 - at.kx0; n > 0; n--) {
            sum0 += (x[0] - zero) * w[0];
            if (block == 4) {
                sum1 += (x[1] - zero) * w[1];
                sum2 += (x[2] - zero) * w[2];
                sum3 += (x[3] - zero) * w[3];
            }
            x += stride;
            w += next;
        }
    }
    out[c] = scaled(p, c, sum0, any);
    if (block == 4) {
        out[c + 1] = scaled(p, c + 1, sum1, any);
        out[c + 2] = scaled(p, c + 2, sum2, any);
        out[c + 3] = scaled(p, c + 3, sum3, any);
    }
}

LT_INLINE void run(const lt_depthwise_mult1_s8 *p, const lt_step *step, int32_t any)
{
    int8_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
        window at = {(x * p->stride_w) - p->pad_left, 0, p->kernel_w};
        int32_t c = 0;
        LT_MACS(p->kernel_h * p->kernel_w * p->channels);
        for (; (at.column < 0) && (at.kx0 < at.kx1); at.kx0++) {
            at.column += p->dilation_w;
        }
        while ((at.kx1 > at.kx0) && ((at.column + ((at.kx1 - 1 - at.kx0) * p->dilation_w)) >= p->in_w)) {
            at.kx1--;
        }
        for (; (p->channels > 3) && (c < p->channels); c += 4) { /* the last four may have some made before */
            channels(p, step->in, at, (c > (p->channels - 4)) ? (p->channels - 4) : c, 4, any, out);
        }
        for (; c < p->channels; c++) {
            channels(p, step->in, at, c, 1, any, out);
        }
    }
}

LT_SHARED void lt_depthwise_mult1_s8_plain(const void *params, const lt_step *step)
{
    run(params, step, 0);
}

#ifndef LT_DSP

LT_SHARED void lt_depthwise_mult1_s8_row(const void *params, const lt_step *step)
{
    lt_depthwise_mult1_s8_plain(params, step);
}

LT_SHARED void lt_depthwise_mult1_s8_any(const void *params, const lt_step *step)
{
    run(params, step, 1);
}

#endif
