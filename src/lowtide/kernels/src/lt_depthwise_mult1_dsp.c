/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_mult1_dsp.c: see lt_depthwise_mult1.h. For cores with Arm's DSP extension.
 *
 * Per pixel a list of its taps that are no padding is made, then four channels at once go through it,
 * from words of bytes. The zero point is subtracted while unpacking, which costs nothing.
 */
#include "lt_depthwise_mult1.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#ifdef LT_DSP

/* Where the first channel's factors are. */
typedef struct {
    const int8_t *x, *weight;
} tap;

/* List the taps of the window whose first column is `column`; return their number. */
static int32_t list_taps(const lt_depthwise_mult1_s8 *p, const void *const *rows, int32_t column,
                         tap *taps)
{
    int32_t channels = p->channels, step = p->dilation_w * channels;
    int32_t end = p->in_w * channels;
    const int8_t *weight = p->weights;
    tap *to = taps;
    column *= channels;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *row = rows[ky];
        int32_t at = column;
        for (int32_t kx = p->kernel_w; kx > 0; kx--) {
            if ((row != NULL) && ((uint32_t)at < (uint32_t)end)) {
                to->x = row + at;
                to->weight = weight;
                to++;
            }
            at += step;
            weight += channels;
        }
    }
    return (int32_t)(to - taps);
}

/* Sums of four channels. */
typedef struct {
    int32_t even0, odd0, even1, odd1;
} sums;

/* The sums of the channels from byte c on over n taps; `base` is what to add to x, in both halves. */
static inline sums sum_four(const tap *taps, int32_t n, int32_t c, int32_t base)
{
    sums s = {0, 0, 0, 0};
#ifdef __OPTIMIZE__
    int32_t a, b, even, even_w;
#define TAP                                                                                          \
    "ldrd %[a], %[b], [%[taps]], #8\n\t"                                                             \
    "ldr %[a], [%[a], %[c]]\n\t"                                                                     \
    "ldr %[b], [%[b], %[c]]\n\t"                                                                     \
    "sxtab16 %[x], %[base], %[a]\n\t"                                                                \
    "sxtb16 %[w], %[b]\n\t"                                                                          \
    "sxtab16 %[a], %[base], %[a], ror #8\n\t"                                                        \
    "sxtb16 %[b], %[b], ror #8\n\t"                                                                  \
    "smlabb %[s0], %[x], %[w], %[s0]\n\t"                                                            \
    "smlatt %[s2], %[x], %[w], %[s2]\n\t"                                                            \
    "smlabb %[s1], %[a], %[b], %[s1]\n\t"                                                            \
    "smlatt %[s3], %[a], %[b], %[s3]\n\t"
    __asm__("lsrs %[n], %[n], #1\n\t"
            "bcc 1f\n\t" TAP "1:\n\t"
            "cbz %[n], 3f\n"
            "2:\n\t" TAP TAP "subs %[n], %[n], #1\n\t"
            "bne 2b\n"
            "3:"
            : [taps] "+r"(taps), [n] "+l"(n), [s0] "+r"(s.even0), [s1] "+r"(s.odd0),
              [s2] "+r"(s.even1), [s3] "+r"(s.odd1), [a] "=&r"(a), [b] "=&r"(b), [x] "=&r"(even),
              [w] "=&r"(even_w)
            : [c] "r"(c), [base] "r"(base)
            : "cc", "memory");
#undef TAP
#else /* there are not enough registers for all that */
    for (; n > 0; n--, taps++) {
        const int8_t *x = taps->x + c, *w = taps->weight + c;
        int32_t add = (int16_t)base;
        s.even0 += (x[0] + add) * w[0];
        s.odd0 += (x[1] + add) * w[1];
        s.even1 += (x[2] + add) * w[2];
        s.odd1 += (x[3] + add) * w[3];
    }
#endif
    return s;
}

static inline int8_t scaled(int32_t bias, int32_t sum, int32_t multiplier, int32_t odd, int32_t shift,
                            int32_t any)
{
    if (any != 0) {
        int32_t y = lt_add(lt_scale(lt_add(bias, sum), multiplier, shift), odd >> 1);
        return (int8_t)lt_clamp(y, INT8_MIN, INT8_MAX);
    }
    return (int8_t)lt_narrow_s8(lt_add(bias, lt_add(sum, sum)), multiplier, lt_centre(odd, shift),
                                shift);
}

/* All channels of a pixel with n taps, with `any` factors or narrow ones. */
LT_INLINE void pixel(const lt_depthwise_mult1_s8 *p, const tap *taps, int32_t n, int8_t *out, int32_t any)
{
    const int32_t *bias = p->bias, *multiplier = p->multiplier;
    const int8_t *shift = p->shift;
    int32_t channels = p->channels, odd = p->centre, zero = p->input_zero;
    int32_t base = (int32_t)((uint32_t)(-zero & 0xFFFF) | (uint32_t)-zero << 16);
    int32_t c = 0;
    for (int32_t left = (channels > 3) ? channels : 0; left > 0; left -= 4, c += 4) {
        if (left < 4) { /* some that were made before, and the last */
            int32_t again = 4 - left;
            c -= again;
            out -= again;
            bias -= again;
            multiplier -= again;
            shift -= again;
        }
        sums s = sum_four(taps, n, c, base);
        out[0] = scaled(bias[0], s.even0, multiplier[0], odd, shift[0], any);
        out[1] = scaled(bias[1], s.odd0, multiplier[1], odd, shift[1], any);
        out[2] = scaled(bias[2], s.even1, multiplier[2], odd, shift[2], any);
        out[3] = scaled(bias[3], s.odd1, multiplier[3], odd, shift[3], any);
        out += 4;
        bias += 4;
        multiplier += 4;
        shift += 4;
    }
    for (; c < channels; c++) {
        int32_t sum = 0;
        for (int32_t i = 0; i < n; i++) {
            sum += (taps[i].x[c] - zero) * taps[i].weight[c];
        }
        *out++ = scaled(*bias++, sum, *multiplier++, odd, *shift++, any);
    }
}

LT_INLINE void run(const lt_depthwise_mult1_s8 *p, const lt_step *step, int32_t any)
{
    int8_t *out = step->out[0];
    tap *taps = step->scratch;
    int32_t column = -p->pad_left, last = p->in_w - (p->kernel_w - 1) * p->dilation_w - 1;
    int32_t n = 0, inside = 0; /* no column of the listed window is padding */
    for (int32_t left = p->out_w; left > 0; left--) {
        if (inside && (column <= last)) {
            for (int32_t i = 0; i < n; i++) {
                taps[i].x += p->stride_w * p->channels;
            }
        } else {
            n = list_taps(p, step->in, column, taps);
            inside = column >= 0;
        }
        LT_MACS(p->kernel_h * p->kernel_w * p->channels);
        pixel(p, taps, n, out, any);
        column += p->stride_w;
        out += p->channels;
    }
    lt_clamp_row(step->out[0], out, p->low, p->high);
}

LT_SHARED void lt_depthwise_mult1_s8_row(const void *params, const lt_step *step)
{
    run(params, step, 0);
}

LT_SHARED void lt_depthwise_mult1_s8_any(const void *params, const lt_step *step)
{
    run(params, step, 1);
}

#endif
