/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv.c: see lt_conv.h. */
#include "lt_conv.h"

#include <string.h>

#include "lt_fixed.h"

/* The sum, modulo 2^32, of products of two runs of n bytes. */
static uint32_t dot(const int8_t *a, const int8_t *b, int32_t n)
{
    uint32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += (uint32_t)(a[i] * b[i]);
    }
    return sum;
}

/* Copy the window of output column x into `patch`, padding as the input's zero point. */
static void im2col(const lt_conv_s8 *p, const void *const *rows, int32_t x, int8_t *patch)
{
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *row = rows[ky];
        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            int32_t column = x * p->stride_w - p->pad_left + kx * p->dilation_w;
            if (row == NULL || column < 0 || column >= p->in_w) {
                memset(patch, p->input_zero, p->in_c);
            } else {
                for (int32_t c = 0; c < p->in_c; c++) {
                    patch[c] = (int8_t)(row[column * p->in_c + c] ^ p->flip);
                }
            }
            patch += p->in_c;
        }
    }
}

LT_SHARED void lt_conv_s8_row(const void *params, const lt_step *step)
{
    const lt_conv_s8 *p = params;
    const int8_t *input = step->in[0];
    int8_t *patch = step->scratch;
    int8_t *out = step->out[0];
    int32_t taps = p->kernel_h * p->kernel_w;
    int32_t depth = p->in_c / p->groups; /* channels that one filter reads */
    int32_t filters = p->out_c / p->groups;
    for (int32_t x = 0; x < p->out_w; x++) {
        const int8_t *window = patch;
        LT_MACS(taps * depth * p->out_c);
        if (taps == 1) {
            window = input + x * p->stride_w * p->in_c;
        } else {
            im2col(p, step->in, x, patch);
        }
        for (int32_t c = 0; c < p->out_c; c++) {
            const int8_t *weights = p->weights + c * taps * depth;
            uint32_t sum = (uint32_t)p->bias[c];
            for (int32_t tap = 0; tap < taps; tap++) {
                sum += dot(window + tap * p->in_c + c / filters * depth, weights, depth);
                weights += depth;
            }
            int32_t y = lt_scale((int32_t)sum, p->multiplier[c], p->shift[c]);
            *out++ = (int8_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
        }
    }
}
