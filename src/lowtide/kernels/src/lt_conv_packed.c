/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_packed.c: see lt_conv_packed.h. For cores without Arm's DSP extension. */
#include "lt_conv_packed.h"

#include "lt_scalar.h"

#ifndef LT_DSP

#include "lt_window.h"

#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LT_LOW_FIRST
#endif

/* Scale a sum of channel c. */
static int8_t finish(const lt_conv_packed_s8 *p, int32_t c, int32_t sum)
{
    const int32_t *scales = p->scales + (c >> 1) * 5;
    int32_t shift = (c & 1) ? (scales[4] >> 8) : (scales[4] & 0xFF);
    int32_t twice = lt_add(scales[(c & 1) * 2], lt_add(sum, sum));
    int32_t y = lt_narrow(twice, scales[((c & 1) * 2) + 1], lt_centre(p->centre, shift), shift);
    return (int8_t)lt_clamp(y, p->low, p->high);
}

/* Half i of the four of a word and the next, and its low byte, w0: halves are of products 0, 2, 1, 3. */
static inline int32_t half(const int32_t *weights, int32_t i)
{
#ifdef LT_LOW_FIRST
    int16_t value;
    (void)__builtin_memcpy(&value, __builtin_assume_aligned((const int8_t *)weights + 2 * i, 2), 2);
    return value;
#else
    return (i & 1) ? (weights[i >> 1] >> 16) : (int16_t)weights[i >> 1];
#endif
}

static inline int32_t low_byte(const int32_t *weights, int32_t i)
{
#ifdef LT_LOW_FIRST
    return ((const int8_t *)weights)[2 * i];
#else
    return (int8_t)half(weights, i);
#endif
}

/* Product k of a four, with half i, of one pixel or of two. */
#define ADD(k, i)                                               \
    do {                                                        \
        int32_t h = half(weights, i), w = low_byte(weights, i); \
        int32_t x = x0[k];                                      \
        raw0 += (uint32_t)(x * h);                              \
        LT_NOW(raw0);                                           \
        low0 += (uint32_t)(x * w);                              \
        LT_NOW(low0);                                           \
        if (two != 0) {                                         \
            x = x1[k];                                          \
            raw1 += (uint32_t)(x * h);                          \
            LT_NOW(raw1);                                       \
            low1 += (uint32_t)(x * w);                          \
            LT_NOW(low1);                                       \
        }                                                       \
    } while (0)

#define FOUR                             \
    do {                                 \
        ADD(0, 0);                       \
        ADD(1, 2);                       \
        ADD(2, 1);                       \
        ADD(3, 3);                       \
        LT_THEN(raw0, low0, raw1, low1); \
    } while (0)

/* All channels of one pixel or of two, to out and out + out_c. */
static inline void pixels(const lt_conv_packed_s8 *p, const int8_t *first, const int8_t *second,
                          int two, int8_t *out)
{
    int32_t depth = p->kernel_h * p->kernel_w * p->in_c;
    int32_t rest = depth & 3;
    const int32_t *weights = p->weights;
    int8_t tail0[4] = {0, 0, 0, 0}, tail1[4] = {0, 0, 0, 0};
    for (int32_t i = 0; i < rest; i++) {
        tail0[i] = first[depth - rest + i];
        tail1[i] = second[depth - rest + i];
    }
    for (int32_t c = 0; c < p->out_c; c += 2) {
        uint32_t raw0 = 0, low0 = 0, raw1 = 0, low1 = 0;
        const int8_t *x0 = first, *x1 = second;
        for (const int8_t *end = x0 + (depth - rest); x0 != end; x0 += 4, x1 += 4, weights += 2) {
            FOUR;
        }
        if (rest != 0) {
            x0 = tail0;
            x1 = tail1;
            FOUR;
            weights += 2;
        }
        out[c] = finish(p, c, (int32_t)low0);
        if (two != 0) {
            out[p->out_c + c] = finish(p, c, (int32_t)low1);
        }
        if ((c + 1) < p->out_c) {
            out[c + 1] = finish(p, c + 1, (int32_t)(raw0 - low0) >> 8);
            if (two != 0) {
                out[p->out_c + c + 1] = finish(p, c + 1, (int32_t)(raw1 - low1) >> 8);
            }
        }
    }
}

/* Gather the window of output column x in `patch`. */
LT_APART static void gather(const lt_conv_packed_s8 *p, const void *const *rows, int32_t x, int8_t *patch)
{
    (void)LT_GATHER(p, rows, x, p->in_c, p->input_zero ^ p->flip, patch);
    if (p->flip != 0) {
        lt_flip_bytes(patch, p->kernel_h * p->kernel_w * p->in_c);
    }
}

/* Where the products of output column x are. */
static const int8_t *source(const lt_conv_packed_s8 *p, const lt_step *step, int32_t x,
                            int8_t *patch)
{
    if (p->direct != 0U) {
        return (const int8_t *)step->in[0] + (x * p->stride_w * p->in_c);
    }
    gather(p, step->in, x, patch);
    return patch;
}

LT_SHARED void lt_conv_packed_s8_row(const void *params, const lt_step *step)
{
    const lt_conv_packed_s8 *p = params;
    int8_t *out = step->out[0];
    int8_t *patch = step->scratch;
    int32_t x = 0;
    for (; !p->lean && ((x + 1) < p->out_w); x += 2, out += 2 * p->out_c) {
        const int8_t *x0 = source(p, step, x, patch);
        const int8_t *x1 = source(p, step, x + 1, patch + (4 * p->quads));
        pixels(p, x0, x1, 1, out);
    }
    LT_MACS(x * p->kernel_h * p->kernel_w * p->in_c * p->out_c);
    for (; x < p->out_w; x++, out += p->out_c) {
        LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->out_c);
        const int8_t *x0 = source(p, step, x, patch);
        pixels(p, x0, x0, 0, out);
    }
}

#endif
