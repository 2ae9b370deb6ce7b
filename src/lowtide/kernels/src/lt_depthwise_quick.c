/* lt_depthwise_quick.c: see lt_depthwise_quick.h. For cores without Arm's DSP extension. */
#include "lt_depthwise_quick.h"

#ifndef __ARM_FEATURE_DSP

#include <stddef.h>

#include "lt_fixed.h"

/* One output pixel. Its window reads columns `column`, `column` + dilation, ... of the input for
 * kx in [kx0, kx1), those that are inside. */
static void pixel(const lt_depthwise_quick_s8 *p, const void *const *rows, int32_t column,
                  int32_t kx0, int32_t kx1, int8_t *out)
{
    int32_t channels = p->channels, zero = p->input_zero;
    int32_t stride = p->dilation_w * channels;
    for (int32_t c = 0; c < channels; c++) {
        int32_t sum = 0;
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            if (rows[ky] != NULL) {
                const int8_t *x = (const int8_t *)rows[ky] + column * channels + c;
                const int8_t *w = p->weights + (ky * p->kernel_w + kx0) * channels + c;
                for (int32_t kx = kx0; kx < kx1; kx++) {
                    sum += (*x - zero) * *w;
                    x += stride;
                    w += channels;
                }
            }
        }
        int32_t shift = p->shift[c];
        int32_t y = lt_narrow(lt_add(p->bias[c], lt_add(sum, sum)), p->multiplier[c],
                              lt_centre(p->centre, shift), shift);
        out[c] = (int8_t)lt_clamp(y, p->low, p->high);
    }
}

void lt_depthwise_quick_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_quick_s8 *p = params;
    int8_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
        int32_t column = x * p->stride_w - p->pad_left;
        int32_t kx0 = 0, kx1 = p->kernel_w;
        while (column < 0 && kx0 < kx1) {
            column += p->dilation_w;
            kx0++;
        }
        while (kx1 > kx0 && column + (kx1 - 1 - kx0) * p->dilation_w >= p->in_w) {
            kx1--;
        }
        pixel(p, step->in, column, kx0, kx1, out);
    }
}

#endif
