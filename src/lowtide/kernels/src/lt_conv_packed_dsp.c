/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_packed_dsp.c: see lt_conv_packed.h. For cores with Arm's DSP extension.
 *
 * Two pixels times two channels at once: 12 instructions for 16 products of bytes. The pixels are
 * unpacked to halves once, in scratch, interleaved: [quads][pixel][2] words.
 */
#include "lt_conv_packed.h"

#include <stddef.h>

#include "lt_fixed.h"
#include "lt_window.h"

#ifdef LT_DSP

/* Sums of a pair of channels with two pixels, over quads >= 1. Returns the weights that follow. */
static inline const int32_t *dot_2x2(const int32_t *w, const int32_t *x, int32_t quads,
                                     int32_t *raw0, int32_t *low0, int32_t *raw1, int32_t *low1)
{
    int32_t r0 = 0, l0 = 0, r1 = 0, l1 = 0, a, b;
#ifdef __OPTIMIZE__
#define QUAD                                                                                         \
    "ldrd %[a], %[b], [%[w]], #8\n\t"                                                                \
    "ldmia %[x]!, {r4, r5, r6, r8}\n\t"                                                              \
    "smlad %[r0], %[a], r4, %[r0]\n\t"                                                               \
    "smlad %[r1], %[a], r6, %[r1]\n\t"                                                               \
    "sxtb16 %[a], %[a]\n\t"                                                                          \
    "smlad %[r0], %[b], r5, %[r0]\n\t"                                                               \
    "smlad %[r1], %[b], r8, %[r1]\n\t"                                                               \
    "sxtb16 %[b], %[b]\n\t"                                                                          \
    "smlad %[l0], %[a], r4, %[l0]\n\t"                                                               \
    "smlad %[l1], %[a], r6, %[l1]\n\t"                                                               \
    "smlad %[l0], %[b], r5, %[l0]\n\t"                                                               \
    "smlad %[l1], %[b], r8, %[l1]\n\t"
    __asm__("lsrs %[n], %[n], #1\n\t"
            "bcc 1f\n\t" QUAD "1:\n\t"
            "cbz %[n], 3f\n"
            "2:\n\t" QUAD QUAD "subs %[n], %[n], #1\n\t"
            "bne 2b\n"
            "3:"
            : [w] "+r"(w), [x] "+r"(x), [n] "+l"(quads), [r0] "+r"(r0), [l0] "+r"(l0), [r1] "+r"(r1),
              [l1] "+r"(l1), [a] "=&r"(a), [b] "=&r"(b)
            :
            : "r4", "r5", "r6", "r8", "cc", "memory");
#undef QUAD
#else /* there are not enough registers for all that */
    for (; quads > 0; quads--, w += 2, x += 4) {
        a = lt_even(w[0]);
        b = lt_even(w[1]);
        r0 = lt_dual(w[1], x[1], lt_dual(w[0], x[0], r0));
        r1 = lt_dual(w[1], x[3], lt_dual(w[0], x[2], r1));
        l0 = lt_dual(b, x[1], lt_dual(a, x[0], l0));
        l1 = lt_dual(b, x[3], lt_dual(a, x[2], l1));
    }
#endif
    *raw0 = r0;
    *low0 = l0;
    *raw1 = r1;
    *low1 = l1;
    return w;
}

/* The same of one pixel, from `depth` bytes as they are. */
static const int32_t *dot_2x1(const int32_t *w, const int8_t *x, int32_t depth, int32_t *raw,
                              int32_t *low)
{
    int32_t r = 0, l = 0, word, even, odd;
    const int8_t *end = x + (depth & ~3);
    while (x != end) {
        word = lt_load(x);
        even = lt_even(word);
        odd = lt_odd(word);
        r = lt_dual(w[0], even, r);
        l = lt_dual(lt_even(w[0]), even, l);
        r = lt_dual(w[1], odd, r);
        l = lt_dual(lt_even(w[1]), odd, l);
        x += 4;
        w += 2;
    }
    depth &= 3;
    if (depth != 0) {
        word = 0;
        (void)__builtin_memcpy(&word, x, (size_t)depth);
        even = lt_even(word);
        odd = lt_odd(word);
        r = lt_dual(w[0], even, r);
        l = lt_dual(lt_even(w[0]), even, l);
        r = lt_dual(w[1], odd, r);
        l = lt_dual(lt_even(w[1]), odd, l);
        w += 2;
    }
    *raw = r;
    *low = l;
    return w;
}

/* Scale the sums of one channel with two pixels, the doubled biases added, to out[0] and out[out_c]. */
static inline void store_two(int32_t twice0, int32_t twice1, int32_t multiplier, int32_t odd,
                             int32_t shift, int8_t *out, int32_t out_c)
{
    int32_t centre = lt_centre(odd, shift);
    out[0] = (int8_t)lt_narrow_s8(twice0, multiplier, centre, shift);
    out[out_c] = (int8_t)lt_narrow_s8(twice1, multiplier, centre, shift);
}

/* All channels of two pixels, from [quads][2][2] words of halves. */
static void two_pixels(const lt_conv_packed_s8 *p, const int32_t *x, int8_t *out)
{
    const int32_t *w = p->weights, *scales = p->scales;
    int32_t quads = p->quads, odd = p->centre, out_c = p->out_c;
    int32_t left = out_c;
    for (;;) {
        int32_t raw0, low0, raw1, low1;
        w = dot_2x2(w, x, quads, &raw0, &low0, &raw1, &low1);
        int32_t bias = scales[0], shifts = scales[4];
        raw0 = lt_sub(raw0, low0) >> 7;
        raw1 = lt_sub(raw1, low1) >> 7;
        store_two(lt_add(bias, lt_add(low0, low0)), lt_add(bias, lt_add(low1, low1)), scales[1], odd,
                  shifts & 0xFF, out, out_c);
        if (left == 1) {
            return;
        }
        bias = scales[2];
        store_two(lt_add(bias, raw0), lt_add(bias, raw1), scales[3], odd, shifts >> 8, out + 1,
                  out_c);
        left -= 2;
        if (left == 0) {
            return;
        }
        out += 2;
        scales += 5;
    }
}

static void one_pixel(const lt_conv_packed_s8 *p, const int8_t *x, int8_t *out)
{
    const int32_t *w = p->weights, *scales = p->scales;
    int32_t depth = p->kernel_h * p->kernel_w * p->in_c, odd = p->centre;
    for (int32_t left = p->out_c; left > 0; left -= 2, scales += 5) {
        int32_t raw, low, s = scales[4] & 0xFF;
        w = dot_2x1(w, x, depth, &raw, &low);
        *out++ = (int8_t)lt_narrow_s8(lt_add(scales[0], lt_add(low, low)), scales[1],
                                      lt_centre(odd, s), s);
        if (left > 1) {
            s = scales[4] >> 8;
            *out++ = (int8_t)lt_narrow_s8(lt_add(scales[2], lt_sub(raw, low) >> 7), scales[3],
                                          lt_centre(odd, s), s);
        }
    }
}

/* The window of output column x as bytes: where it is, or gathered in `patch`, padded. */
static const int8_t *window(const lt_conv_packed_s8 *p, const void *const *rows, int32_t x,
                            int8_t *patch)
{
    if (p->direct != 0U) {
        return (const int8_t *)rows[0] + (x * p->stride_w * p->in_c);
    }
    int8_t *to = LT_GATHER(p, rows, x, p->in_c, p->input_zero ^ p->flip, patch);
    if (p->flip != 0) {
        lt_flip_bytes(patch, to - patch);
    }
    return patch;
}

/* Unpack `depth` bytes into words of halves, every other pair of words. */
static void unpack(int32_t *to, const int8_t *from, int32_t depth)
{
    int32_t word;
    const int8_t *end = from + (depth & ~3);
    for (; from != end; from += 4, to += 4) {
        word = lt_load(from);
        to[0] = lt_even(word);
        to[1] = lt_odd(word);
    }
    if ((depth & 3) != 0) {
        word = 0;
        (void)__builtin_memcpy(&word, from, (size_t)(depth & 3));
        to[0] = lt_even(word);
        to[1] = lt_odd(word);
    }
}

/* n >= 0 bytes of the input's zero point, unpacked as by `unpack`; n is a multiple of 4. */
static void unpack_zero(int32_t *to, int32_t zero, int32_t n)
{
    int32_t word = (int32_t)((uint32_t)(zero & 0xFFFF) * 0x10001U);
    for (int32_t *end = to + n; to != end; to += 4) {
        to[0] = word;
        to[1] = word;
    }
}

/* The window of output column x, unpacked without a copy as bytes; in_c is a multiple of 4. */
static void unpack_window(const lt_conv_packed_s8 *p, const void *const *rows, int32_t x, int32_t *to)
{
    int32_t in_c = p->in_c, first = (x * p->stride_w) - p->pad_left;
    int32_t run = p->kernel_w * in_c;
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *row = rows[ky];
        if (row == NULL) {
            unpack_zero(to, p->input_zero, run);
            to += run;
        } else if ((p->dilation_w == 1) && (first >= 0) && ((first + p->kernel_w) <= p->in_w)) {
            unpack(to, row + (first * in_c), run);
            to += run;
        } else {
            int32_t column = first;
            for (int32_t kx = 0; kx < p->kernel_w; kx++, column += p->dilation_w, to += in_c) {
                if ((column < 0) || (column >= p->in_w)) {
                    unpack_zero(to, p->input_zero, in_c);
                } else {
                    unpack(to, row + (column * in_c), in_c);
                }
            }
        }
    }
}

LT_SHARED void lt_conv_packed_s8_row(const void *params, const lt_step *step)
{
    const lt_conv_packed_s8 *p = params;
    int32_t *halves = step->scratch;
    int32_t whole = !p->direct && ((p->in_c & 3) == 0) && (p->flip == 0);
    int8_t *patch = (int8_t *)((whole || p->lean || (p->out_w == 1)) ? halves : (halves + (4 * p->quads)));
    int8_t *out = step->out[0];
    int32_t depth = p->kernel_h * p->kernel_w * p->in_c;
    int32_t x = 0;
    for (; !p->lean && ((x + 1) < p->out_w); x += 2, out += 2 * p->out_c) {
        if (whole != 0) {
            unpack_window(p, step->in, x, halves);
            unpack_window(p, step->in, x + 1, halves + 2);
        } else {
            unpack(halves, window(p, step->in, x, patch), depth);
            unpack(halves + 2, window(p, step->in, x + 1, patch), depth);
        }
        two_pixels(p, halves, out);
    }
    LT_MACS(x * p->kernel_h * p->kernel_w * p->in_c * p->out_c);
    for (; x < p->out_w; x++, out += p->out_c) {
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->out_c);
        one_pixel(p, window(p, step->in, x, patch), out);
    }
    lt_clamp_row(step->out[0], out, p->low, p->high);
}

#endif
