/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_scalar.c: see lt_depthwise_scalar.h. */
#include "lt_depthwise_scalar.h"

#include <stddef.h>

#include "lt_scalar.h"
#include "lt_elem.h"

/* A pixel to make. */
typedef struct {
    const lt_depthwise_scalar_s8 *p;
    const void *const *rows;
    int32_t offset;   /* where in a row the first column of the window is that is in the image */
    int32_t kx0, kx1; /* the columns of the window that are in the image */
    int8_t *out;
    int8_t padding[4];
} window;

/* Four channels of a pixel at x with four weights; of a `few`, so many `lanes`. */
#define TAP(x, w)                                        \
    do {                                                 \
        s0 += (uint32_t)((x)[0] * (w)[0]);               \
        LT_NOW(s0);                                      \
        if ((few == 0) || (lanes > 1)) {                 \
            s1 += (uint32_t)((x)[1] * (w)[1]);           \
            LT_NOW(s1);                                  \
            if ((few == 0) || (lanes > 2)) {             \
                s2 += (uint32_t)((x)[2] * (w)[2]);       \
                LT_NOW(s2);                              \
            }                                            \
        }                                                \
        if (few == 0) {                                  \
            s3 += (uint32_t)((x)[3] * (w)[3]);           \
            LT_NOW(s3);                                  \
            LT_THEN(s0, s1, s2, s3);                     \
        }                                                \
    } while (0)

/* The channels of a pixel, four by four; or the `few` beyond the last four. If `three`, the window is three
 * columns, and none of them padding. Which of it, is known when this is compiled. */
LT_INLINE void make(const window *of, int three, int few)
{
    const lt_depthwise_scalar_s8 *p = of->p;
    const int8_t *padding = of->padding;
    const void *const *end = of->rows + p->kernel_h;
    int32_t whole = p->channels & ~3, lanes = p->channels & 3, first = few ? whole : 0;
    int32_t next = p->dilation_w * p->channels, odd = p->centre, offset = of->offset + first;
    int32_t width = three ? 3 : p->kernel_w, kx0 = three ? 0 : of->kx0, kx1 = three ? 3 : of->kx1;
    const int8_t *weights = p->weights + (few ? (first * p->kernel_h * width) : 0);
    const int32_t *scales = p->scales + (3 * first);
    int8_t *out = of->out + first;
    for (const int8_t *last = of->out + whole; few || (out != last); out += 4, offset += 4, scales += 12) {
        LT_START(scales, s0, s1, s2, s3);
        if (!three) {
            for (int32_t kx = (kx0 == 0) ? kx1 : 0; kx < width; kx = ((kx + 1) == kx0) ? kx1 : (kx + 1)) {
                const int8_t *w = weights + (4 * kx);
                for (int32_t ky = p->kernel_h; ky > 0; ky--, w += 4 * width) {
                    TAP(padding, w);
                }
            }
            weights += 4 * kx0;
        }
        for (const void *const *rows = of->rows; rows != end; rows++, weights += 4 * width) {
            const int8_t *x = *rows, *w = weights;
            int32_t pitch = next;
            if (x == NULL) {
                x = padding;
                pitch = 0;
            } else {
                x += offset;
            }
            if (three != 0) {
                TAP(x, w);
                x += pitch;
                TAP(x, w + 4);
                x += pitch;
                TAP(x, w + 8);
            } else {
                for (int32_t n = kx1 - kx0; n > 0; n--, x += pitch, w += 4) {
                    TAP(x, w);
                }
            }
        }
        weights -= 4 * kx0;
        out[0] = lt_scalar_scaled(s0, scales, odd);
        if ((few == 0) || (lanes > 1)) {
            out[1] = lt_scalar_scaled(s1, scales + 3, odd);
        }
        if ((few == 0) || (lanes > 2)) {
            out[2] = lt_scalar_scaled(s2, scales + 6, odd);
        }
        if (few != 0) {
            break;
        }
        out[3] = lt_scalar_scaled(s3, scales + 9, odd);
    }
}

LT_APART static void whole_of_three(const window *of)
{
    make(of, 1, 0);
}

LT_APART static void any(const window *of)
{
    make(of, 0, 0);
}

LT_APART static void rest(const window *of)
{
    make(of, 0, 1);
}

LT_SHARED void lt_depthwise_scalar_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_scalar_s8 *p = params;
    window of = {p, step->in, 0, 0, 0, step->out[0], {0, 0, 0, 0}};
    for (int32_t i = 0; i < 4; i++) {
        of.padding[i] = p->input_zero;
    }
    for (int32_t x = 0; x < p->out_w; x++, of.out += p->channels) {
        int32_t column = (x * p->stride_w) - p->pad_left;
        of.kx0 = 0;
        of.kx1 = p->kernel_w;
        for (; (column < 0) && (of.kx0 < of.kx1); of.kx0++) {
            column += p->dilation_w;
        }
        while ((of.kx1 > of.kx0) && ((column + ((of.kx1 - 1 - of.kx0) * p->dilation_w)) >= p->in_w)) {
            of.kx1--;
        }
        of.offset = column * p->channels;
        if ((p->kernel_w == 3) && ((of.kx1 - of.kx0) == 3)) {
            whole_of_three(&of);
        } else {
            any(&of);
        }
        if ((p->channels & 3) != 0) {
            rest(&of);
        }
    }
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * p->channels);
    lt_clamp_row(step->out[0], (const int8_t *)step->out[0] + (p->out_w * p->channels), p->low, p->high);
}
