/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_scalar.c: see lt_conv_scalar.h. */
#include "lt_conv_scalar.h"

#include <stddef.h>
#include <string.h>

#include "lt_elem.h"
#include "lt_scalar.h"

/* Copy n bytes: words where they are such. */
static inline void copy(int8_t *to, const int8_t *from, int32_t n)
{
#ifdef __GNUC__
    if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
        for (; n >= 16; n -= 16, to += 16, from += 16) {
            (void)__builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4),
                                   16);
        }
        for (; n >= 4; n -= 4, to += 4, from += 4) {
            (void)__builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4),
                                   4);
        }
    }
#endif
    for (; n > 0; n--) {
        *to++ = *from++;
        LT_LOOP_AS_IT_IS(to);
    }
}

/* Flip the sign bits of n bytes. */
static void flip(int8_t *bytes, int32_t n)
{
    for (const int8_t *end = bytes + n; bytes != end; bytes++) {
        *bytes = (int8_t)(*bytes ^ 0x80);
    }
}

/* Copy the window of output column x into `patch`, padding as the input's zero point. */
LT_APART static void gather(const lt_conv_scalar_s8 *p, const void *const *rows, int32_t x, int8_t *patch)
{
    int32_t first = (x * p->stride_w) - p->pad_left;
    int32_t run = p->kernel_w * p->in_c;
    int32_t inside = (p->dilation_w == 1) && (first >= 0) && ((first + p->kernel_w) <= p->in_w);
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *row = rows[ky];
        if (row == NULL) {
            (void)memset(patch, p->input_zero ^ p->flip, (size_t)run);
        } else if (inside != 0) {
            copy(patch, row + (first * p->in_c), run);
        } else {
            int32_t column = first;
            for (int32_t at = 0; at < run; at += p->in_c, column += p->dilation_w) {
                if ((column < 0) || (column >= p->in_w)) {
                    (void)memset(patch + at, p->input_zero ^ p->flip, p->in_c);
                } else {
                    copy(patch + at, row + (column * p->in_c), p->in_c);
                }
            }
        }
        patch += run;
    }
    if (p->flip != 0) {
        flip(patch - p->products, p->products);
    }
}

/* Where the products of output column x are. */
static inline const int8_t *source(const lt_conv_scalar_s8 *p, const lt_step *step, int32_t x, int8_t *patch)
{
    if (p->direct != 0U) {
        return (const int8_t *)step->in[0] + (x * p->stride_w * p->in_c);
    }
    gather(p, step->in, x, patch);
    return patch;
}

/* Four channels of one or two pixels. */
typedef struct {
    const int8_t *weights; /* move on to those of the next four */
    const int8_t *x0, *x1; /* the products of either pixel; of one, x1 is null */
    int32_t products;
    const int32_t *scales;
    uint32_t sums[8]; /* of the first pixel, then of the second */
} four;

/* Where sums go. */
#define FINISH(of, i, a, b, c, d)   \
    do {                            \
        (of)->sums[i] = (a);        \
        (of)->sums[(i) + 1] = (b);  \
        (of)->sums[(i) + 2] = (c);  \
        (of)->sums[(i) + 3] = (d);  \
    } while (0)

/* What follows is apart, so that its loops have all registers. */
#ifdef __arm__

/* The product of a byte of either pixel. */
#define BOTH(w, s, t)              \
    do {                           \
        int32_t w_ = w;            \
        (s) += (uint32_t)(x * w_); \
        LT_NOW(s);                 \
        (t) += (uint32_t)(y * w_); \
        LT_NOW(t);                 \
    } while (0)

/* Byte i of either pixel with four channels. */
#define TWO(i)                                \
    do {                                      \
        int32_t x = x0[i], y = x1[i];         \
        BOTH(weights[4 * (i)], s0, t0);       \
        BOTH(weights[(4 * (i)) + 1], s1, t1); \
        BOTH(weights[(4 * (i)) + 2], s2, t2); \
        BOTH(weights[(4 * (i)) + 3], s3, t3); \
    } while (0)

LT_APART static void add_two(four *of)
{
    const int8_t *weights = of->weights, *x0 = of->x0, *x1 = of->x1, *end = x0 + (of->products & ~3);
    LT_START(of->scales, s0, s1, s2, s3);
    uint32_t t0 = s0, t1 = s1, t2 = s2, t3 = s3;
    for (; x0 != end; x0 += 4, x1 += 4, weights += 16) {
        TWO(0);
        TWO(1);
        TWO(2);
        TWO(3);
    }
    for (end = of->x0 + of->products; x0 != end; x0++, x1++, weights += 4) {
        TWO(0);
    }
    of->weights = weights;
    FINISH(of, 0, s0, s1, s2, s3);
    FINISH(of, 4, t0, t1, t2, t3);
}

#else

/* Multiplications are slow elsewhere, and registers many: one multiplies both pixels, x + 2^16 * y. The
 * sum of two products is above -2^15 and below 2^15, for either pixel, as not both weights are -128: so
 * the second one's can be told from the other. A sum s is of all of that, t of the second pixel alone. */
#define PAIR(w, c, s, t)                                                  \
    do {                                                                  \
        int32_t w0 = (w)[c], w1 = (w)[4 + (c)];                           \
        uint32_t both = (first * (uint32_t)w0) + (second * (uint32_t)w1); \
        (s) += both;                                                      \
        (t) += (uint32_t)((int32_t)(both + 0x7FFFU) >> 16);               \
    } while (0)

/* Two bytes of either pixel, from the i-th on, with four channels. */
#define TWO(i)                                                     \
    do {                                                           \
        const int8_t *w = weights + (4 * (i));                     \
        uint32_t first = PIXELS(i), second = PIXELS((i) + 1);      \
        PAIR(w, 0, s0, t0);                                        \
        PAIR(w, 1, s1, t1);                                        \
        PAIR(w, 2, s2, t2);                                        \
        PAIR(w, 3, s3, t3);                                        \
        LT_THEN(s0, s1, s2, s3);                                   \
        LT_THEN(t0, t1, t2, t3);                                   \
    } while (0)

#define PIXELS(i) ((uint32_t)x0[i] + ((uint32_t)x1[i] << 16))

/* One byte with channel c. */
#define LAST(c, s, t)                     \
    do {                                  \
        int32_t w0 = weights[c];          \
        (s) += PIXELS(0) * (uint32_t)w0;  \
        (t) += (uint32_t)(*x1 * w0);      \
    } while (0)

LT_APART static void add_two(four *of)
{
    const int8_t *weights = of->weights, *x0 = of->x0, *x1 = of->x1, *end = x0 + (of->products & ~3);
    LT_START(of->scales, t0, t1, t2, t3);
    uint32_t s0 = t0 + (t0 << 16), s1 = t1 + (t1 << 16), s2 = t2 + (t2 << 16), s3 = t3 + (t3 << 16);
    for (; x0 != end; x0 += 4, x1 += 4, weights += 16) {
        TWO(0);
        TWO(2);
    }
    for (end = of->x0 + of->products; x0 != end; x0++, x1++, weights += 4) {
        LAST(0, s0, t0);
        LAST(1, s1, t1);
        LAST(2, s2, t2);
        LAST(3, s3, t3);
    }
    of->weights = weights;
    FINISH(of, 0, s0 - (t0 << 16), s1 - (t1 << 16), s2 - (t2 << 16), s3 - (t3 << 16));
    FINISH(of, 4, t0, t1, t2, t3);
}

#endif

/* Byte i of one pixel with four channels. */
#define ONE(i)                                        \
    do {                                              \
        int32_t x = x0[i];                            \
        s0 += (uint32_t)(x * weights[4 * (i)]);       \
        LT_NOW(s0);                                   \
        s1 += (uint32_t)(x * weights[(4 * (i)) + 1]); \
        LT_NOW(s1);                                   \
        s2 += (uint32_t)(x * weights[(4 * (i)) + 2]); \
        LT_NOW(s2);                                   \
        s3 += (uint32_t)(x * weights[(4 * (i)) + 3]); \
        LT_NOW(s3);                                   \
        LT_THEN(s0, s1, s2, s3);                      \
    } while (0)

LT_APART static void add_one(four *of)
{
    const int8_t *weights = of->weights, *x0 = of->x0, *end = x0 + (of->products & ~3);
    LT_START(of->scales, s0, s1, s2, s3);
    for (; x0 != end; x0 += 4, weights += 16) {
        ONE(0);
        ONE(1);
        ONE(2);
        ONE(3);
    }
    for (end = of->x0 + of->products; x0 != end; x0++, weights += 4) {
        ONE(0);
    }
    of->weights = weights;
    FINISH(of, 0, s0, s1, s2, s3);
}

LT_INLINE int8_t scaled(uint32_t sum, const int32_t *scale, int32_t odd, int32_t any)
{
    return any ? lt_scalar_any(sum, scale, odd) : lt_scalar_scaled(sum, scale, odd);
}

/* All channels of one pixel, x0, or of two, to out and out + out_c; of `any` factors or not. */
LT_INLINE void make(const lt_conv_scalar_s8 *p, const int8_t *x0, const int8_t *x1, int8_t *out, int32_t any)
{
    four of;
    int32_t out_c = p->out_c;
    of.weights = p->weights;
    of.x0 = x0;
    of.x1 = x1;
    of.products = p->products;
    of.scales = p->scales;
    for (const int8_t *end = out + out_c; out != end;) {
        const uint32_t *sum = of.sums;
        const int8_t *last = ((end - out) < 4) ? end : (out + 4);
        if (x1 != NULL) {
            add_two(&of);
        } else {
            add_one(&of);
        }
        for (; out != last; out++, sum++, of.scales += 3) {
            *out = scaled(sum[0], of.scales, p->centre, any);
            if (x1 != NULL) {
                out[out_c] = scaled(sum[4], of.scales, p->centre, any);
            }
        }
    }
}

LT_APART static void pixels(const lt_conv_scalar_s8 *p, const int8_t *x0, const int8_t *x1, int8_t *out)
{
    make(p, x0, x1, out, 0);
}

LT_APART static void pixels_any(const lt_conv_scalar_s8 *p, const int8_t *x0, const int8_t *x1, int8_t *out)
{
    make(p, x0, x1, out, 1);
}

LT_INLINE void run(const lt_conv_scalar_s8 *p, const lt_step *step,
                   void (*by)(const lt_conv_scalar_s8 *, const int8_t *, const int8_t *, int8_t *))
{
    int8_t *out = step->out[0];
    int8_t *patch = step->scratch;
    int32_t x = 0;
#ifndef LT_SHORT /* there, two pixels have not enough registers */
    for (; !p->lean && ((x + 1) < p->out_w); x += 2, out += 2 * p->out_c) {
        const int8_t *x0 = source(p, step, x, patch);
        const int8_t *x1 = source(p, step, x + 1, patch + p->products);
        by(p, x0, x1, out);
    }
#endif
    for (; x < p->out_w; x++, out += p->out_c) {
        by(p, source(p, step, x, patch), NULL, out);
    }
    LT_MACS(p->out_w * p->products * p->out_c);
    lt_clamp_row(step->out[0], out, p->low, p->high);
}

LT_SHARED void lt_conv_scalar_s8_row(const void *params, const lt_step *step)
{
    run(params, step, pixels);
}

LT_SHARED void lt_conv_scalar_s8_any(const void *params, const lt_step *step)
{
    run(params, step, pixels_any);
}
