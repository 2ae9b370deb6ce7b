/* lt_depthwise_quick_dsp.c: see lt_depthwise_quick.h. For cores with Arm's DSP extension.
 *
 * Four channels of one pixel at once, from words of bytes; what is padding is left out.
 */
#include "lt_depthwise_quick.h"

#ifdef __ARM_FEATURE_DSP

#include <stddef.h>

#include "lt_fixed.h"

/* Bytes 0 and 2 of x (1 and 3) as halves, plus those of `base`. */
static inline int32_t even_from(int32_t base, int32_t x)
{
    int32_t pair;
    __asm__("sxtab16 %0, %1, %2" : "=r"(pair) : "r"(base), "r"(x));
    return pair;
}

static inline int32_t odd_from(int32_t base, int32_t x)
{
    int32_t pair;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(pair) : "r"(base), "r"(x));
    return pair;
}

/* sum + the product of the low (high) halves. */
static inline int32_t low_product(int32_t a, int32_t b, int32_t sum)
{
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

static inline int32_t high_product(int32_t a, int32_t b, int32_t sum)
{
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The four channels from `c` of one pixel; the window as in lt_depthwise_quick.c. */
static void four(const lt_depthwise_quick_s8 *p, const void *const *rows, int32_t column,
                 int32_t kx0, int32_t taps, int32_t c, int8_t *out)
{
    int32_t channels = p->channels, stride = p->dilation_w * channels;
    int32_t base = -p->input_zero;
    int32_t sum[4] = {0, 0, 0, 0};
    base = (int32_t)((uint32_t)(base & 0xFFFF) | (uint32_t)base << 16);
    const int8_t *row_w = p->weights + kx0 * channels + c;
    column = column * channels + c;
    for (int32_t ky = p->kernel_h; ky > 0; ky--, row_w += p->kernel_w * channels) {
        const int8_t *x = *rows++;
        const int8_t *w = row_w;
        if (x == NULL) {
            continue;
        }
        x += column;
        for (int32_t n = taps; n > 0; n--) {
            int32_t a = lt_load(x), b = lt_load(w);
            int32_t even = even_from(base, a), odd = odd_from(base, a);
            x += stride;
            w += channels;
            a = lt_even(b);
            b = lt_odd(b);
            sum[0] = low_product(even, a, sum[0]);
            sum[1] = low_product(odd, b, sum[1]);
            sum[2] = high_product(even, a, sum[2]);
            sum[3] = high_product(odd, b, sum[3]);
        }
    }
    for (int32_t i = 0; i < 4; i++) {
        int32_t s = p->shift[c + i];
        out[c + i] = (int8_t)lt_narrow_s8(lt_add(p->bias[c + i], lt_add(sum[i], sum[i])),
                                          p->multiplier[c + i], lt_centre(p->centre, s), s);
    }
}

/* One channel of one pixel. */
static void one(const lt_depthwise_quick_s8 *p, const void *const *rows, int32_t column,
                int32_t kx0, int32_t taps, int32_t c, int8_t *out)
{
    int32_t channels = p->channels, sum = 0, s = p->shift[c];
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *x = rows[ky];
        const int8_t *w = p->weights + (ky * p->kernel_w + kx0) * channels + c;
        for (int32_t n = 0; x != NULL && n < taps; n++) {
            int32_t at = (column + n * p->dilation_w) * channels + c;
            sum += (x[at] - p->input_zero) * w[n * channels];
        }
    }
    out[c] = (int8_t)lt_narrow_s8(lt_add(p->bias[c], lt_add(sum, sum)), p->multiplier[c],
                                  lt_centre(p->centre, s), s);
}

void lt_depthwise_quick_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_quick_s8 *p = params;
    int8_t *out = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
        int32_t column = x * p->stride_w - p->pad_left;
        int32_t kx0 = 0, kx1 = p->kernel_w, c = 0;
        while (column < 0 && kx0 < kx1) {
            column += p->dilation_w;
            kx0++;
        }
        while (kx1 > kx0 && column + (kx1 - 1 - kx0) * p->dilation_w >= p->in_w) {
            kx1--;
        }
        for (; c + 4 <= p->channels; c += 4) {
            four(p, step->in, column, kx0, kx1 - kx0, c, out);
        }
        for (; c < p->channels; c++) {
            one(p, step->in, column, kx0, kx1 - kx0, c, out);
        }
    }
    if (p->low > INT8_MIN || p->high < INT8_MAX) {
        for (int8_t *at = step->out[0]; at != out; at++) {
            *at = (int8_t)lt_clamp(*at, p->low, p->high);
        }
    }
}

#endif
