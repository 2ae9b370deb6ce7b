/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_w4.c: see lt_conv_w4.h. */
#include "lt_conv_w4.h"

#include "lt_fixed.h"
#include "lt_window.h"

/* The window of output column x: in the row itself where it is one pixel, else copied to `patch`. */
LT_APART static const int8_t *window(const lt_conv_w4_s8 *p, const void *const *rows, int32_t x,
                            int8_t *patch)
{
    if ((p->kernel_h * p->kernel_w) == 1) {
        return (const int8_t *)rows[0] + (x * p->stride_w * p->in_c);
    }
    (void)LT_GATHER(p, rows, x, p->in_c, p->input_zero, patch);
    return patch;
}

static uint32_t eightfold(const int8_t *a, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += a[i];
    }
    return (uint32_t)sum * 8;
}

static int8_t finish(const lt_conv_w4_s8 *p, uint32_t sum, int32_t c)
{
    int32_t y = lt_scale((int32_t)(sum + (uint32_t)p->bias[c]), p->multiplier[c], p->shift[c]);
    return (int8_t)lt_clamp(lt_add(y, p->output_zero), p->low, p->high);
}

/* All channels of one pixel, whose window is `a`. */
static void one(const lt_conv_w4_s8 *p, const int8_t *a, int32_t n, int8_t *out)
{
    const uint8_t *weights = p->weights;
    const uint32_t less = eightfold(a, n);
    for (int32_t c = 0; c < p->out_c; c++) {
        int32_t sum = 0, i = 0;
        for (; (i + 2) <= n; i += 2) {
            int32_t pair = *weights++;
            sum += ((pair & 15) * a[i]) + ((pair >> 4) * a[i + 1]);
        }
        if (i < n) {
            sum += (*weights++ & 15) * a[i];
        }
        *out++ = finish(p, (uint32_t)sum - less, c);
    }
}

/* The same of two pixels, which weights are unpacked for once. */
static void two(const lt_conv_w4_s8 *p, const int8_t *a, const int8_t *b, int32_t n, int8_t *out)
{
    const uint8_t *weights = p->weights;
    const uint32_t less_a = eightfold(a, n), less_b = eightfold(b, n);
    for (int32_t c = 0; c < p->out_c; c++) {
        int32_t sum_a = 0, sum_b = 0, i = 0;
        for (; (i + 2) <= n; i += 2) {
            int32_t pair = *weights++, low = pair & 15, high = pair >> 4;
            sum_a += (low * a[i]) + (high * a[i + 1]);
            sum_b += (low * b[i]) + (high * b[i + 1]);
        }
        if (i < n) {
            int32_t low = *weights++ & 15;
            sum_a += low * a[i];
            sum_b += low * b[i];
        }
        out[c] = finish(p, (uint32_t)sum_a - less_a, c);
        out[c + p->out_c] = finish(p, (uint32_t)sum_b - less_b, c);
    }
}

LT_SHARED void lt_conv_w4_s8_row(const void *params, const lt_step *step)
{
    const lt_conv_w4_s8 *p = params;
    const int32_t n = p->kernel_h * p->kernel_w * p->in_c;
    int8_t *patch = step->scratch;
    int8_t *out = step->out[0];
    int32_t x = 0;
    LT_MACS(n * p->out_c * p->out_w);
    for (; !p->lean && ((x + 2) <= p->out_w); x += 2) {
        const int8_t *a = window(p, step->in, x, patch);
        const int8_t *b = window(p, step->in, x + 1, patch + n);
        two(p, a, b, n, out);
        out += 2 * p->out_c;
    }
    for (; x < p->out_w; x++) {
        one(p, window(p, step->in, x, patch), n, out);
        out += p->out_c;
    }
}
