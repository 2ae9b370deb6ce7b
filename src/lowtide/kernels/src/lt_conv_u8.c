/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_u8.c: see lt_conv_u8.h.
 *
 * sum (x - zx) * (w - zw) = sum x * w - zw * sum x + what is folded into the bias; sum x is the same for
 * all channels.
 */
#include "lt_conv_u8.h"

#include <string.h>

#include "lt_fixed.h"

/* Copy the window of output column x into `patch`, padding as the input's zero point. */
static void gather(const lt_conv_u8 *p, const void *const *rows, int32_t x, uint8_t *patch)
{
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const uint8_t *row = rows[ky];
        int32_t column = x * p->stride_w - p->pad_left;
        for (int32_t kx = 0; kx < p->kernel_w; kx++, column += p->dilation_w, patch += p->in_c) {
            if (row == NULL || column < 0 || column >= p->in_w) {
                memset(patch, p->input_zero, p->in_c);
            } else {
                memcpy(patch, row + column * p->in_c, p->in_c);
            }
        }
    }
}

LT_SHARED void lt_conv_u8_row(const void *params, const lt_step *step)
{
    const lt_conv_u8 *p = params;
    const uint8_t *input = step->in[0];
    uint8_t *patch = step->scratch;
    uint8_t *out = step->out[0];
    int32_t depth = p->kernel_h * p->kernel_w * p->in_c;
    for (int32_t x = 0; x < p->out_w; x++) {
        const uint8_t *window = patch;
        const uint8_t *weights = p->weights;
        uint32_t total = 0;
        LT_MACS(depth * p->out_c);
        if (p->kernel_h * p->kernel_w == 1) {
            window = input + x * p->stride_w * p->in_c;
        } else {
            gather(p, step->in, x, patch);
        }
        for (int32_t i = 0; i < depth; i++) {
            total += window[i];
        }
        total *= p->weights_zero;
        for (int32_t c = 0; c < p->out_c; c++) {
            uint32_t sum = (uint32_t)p->bias[c] - total;
            for (int32_t i = 0; i < depth; i++) {
                sum += (uint32_t)window[i] * *weights++;
            }
            int32_t y = lt_add(lt_scale((int32_t)sum, p->multiplier, p->shift), p->output_zero);
            *out++ = (uint8_t)lt_clamp(y, p->low, p->high);
        }
    }
}
