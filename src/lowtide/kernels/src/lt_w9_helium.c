/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9_helium.c: see lt_w9.h. For cores with Arm's Helium: a lane is a channel. */
#include "lt_w9.h"

#include <stddef.h>

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

/* Four channels at most, in lanes `some`: which bytes of a pixel they read and make, and of weights how far
 * theirs are; what scales them, `left` being above 0 and `right` below. */
typedef struct {
    mve_pred16_t some;
    uint32x4_t in, out, far;
    int32x4_t bias, multiplier, left, right;
} lanes;

static inline lanes lanes_of(const lt_w9_s8 *p, int32_t i)
{
    lanes of;
    of.some = vctp32q((uint32_t)(p->count - i));
    of.out = vldrhq_z_u32(p->channels + i, of.some);
    of.in = of.out;
    if (p->filters > 1) {
        uint32_t each[4];
        vst1q_u32(each, of.out);
        for (int32_t k = 0; k < 4; k++) {
            each[k] /= p->filters;
        }
        of.in = vld1q_u32(each);
    }
    of.far = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)(p->kernel_h * p->kernel_w));
    of.bias = vldrwq_z_s32(p->bias + i, of.some);
    of.multiplier = vldrwq_z_s32(p->multiplier + i, of.some);
    int32x4_t shift = vldrbq_z_s32(p->shift + i, of.some), none = vdupq_n_s32(0);
    of.left = vmaxq_s32(shift, none);
    of.right = vminq_s32(shift, none);
    return of;
}

/* Sums, scaled as lt_scale does, and put where the channels are. */
static inline void put(const lt_w9_s8 *p, const lanes *of, int32x4_t sum, int8_t *out)
{
    sum = vqrdmulhq_s32(vshlq_s32(sum, of->left), of->multiplier);
    sum = vqaddq_s32(sum, vshrq_n_s32(vandq_s32(sum, of->right), 31));
    sum = vaddq_n_s32(vrshlq_s32(sum, of->right), p->output_zero);
    sum = vminq_s32(vmaxq_s32(sum, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
    vstrbq_scatter_offset_p_s32(out, of->out, sum, of->some);
}

/* Which taps of a row of the window that begins in column `first` lie in the image. */
static inline void taps_of(const lt_w9_s8 *p, int32_t first, int32_t *from, int32_t *to)
{
    int32_t low = 0, high = p->kernel_w;
    while ((low < high) && ((first + (low * p->dilation_w)) < 0)) {
        low++;
    }
    while ((low < high) && ((first + ((high - 1) * p->dilation_w)) >= p->in_w)) {
        high--;
    }
    *from = low;
    *to = high;
}

/* n weights of each. */
static inline int32x4_t weights_of(int32x4_t sum, const int16_t *w, int32_t n, const lanes *of)
{
    for (; n > 0; n--, w++) {
        sum = vaddq_s32(sum, vldrhq_gather_shifted_offset_z_s32(w, of->far, of->some));
    }
    return sum;
}

LT_SHARED void lt_w9_depthwise(const lt_w9_s8 *p, const lt_step *step)
{
    int32_t height = p->kernel_h, width = p->kernel_w, in_c = p->in_c, next = p->dilation_w * in_c;
    const int16_t *weights = p->weights;
    for (int32_t i = 0; i < p->count; i += 4, weights += 4 * height * width) {
        const lanes of = lanes_of(p, i);
        int32_t first = -p->pad_left;
        int8_t *out = step->out[0];
        for (int32_t x = p->out_w; x > 0; x--, first += p->stride_w, out += p->out_c) {
            int32_t from, to;
            taps_of(p, first, &from, &to);
            int32_t at = (first * in_c) + (from * next);
            int32x4_t sum = of.bias, pads = vdupq_n_s32(0);
            const int16_t *w = weights;
            for (int32_t ky = 0; ky < height; ky++) {
                const int8_t *row = step->in[ky];
                if (row == NULL) {
                    pads = weights_of(pads, w, width, &of);
                    w += width;
                    continue;
                }
                pads = weights_of(pads, w, from, &of);
                row += at;
                w += from;
                for (int32_t n = to - from; n > 0; n--, row += next, w++) {
                    int32x4_t byte = vldrbq_gather_offset_z_s32(row, of.in, of.some);
                    sum = vaddq_s32(sum, vmulq_s32(byte, vldrhq_gather_shifted_offset_z_s32(w, of.far, of.some)));
                }
                pads = weights_of(pads, w, width - to, &of);
                w += width - to;
            }
            put(p, &of, vmlaq_n_s32(sum, pads, p->input_zero), out);
        }
    }
}

/* Which of the up to eight bytes of a row of the window that are left are multiplied by the next weights. */
static inline uint16x8_t order_of(int32_t left)
{
    static const uint16_t order[8] = {0, 2, 1, 3, 4, 6, 5, 7};
    static const uint16_t last[8] = {0, 2, 1, 3, 4, 5, 6, 7};
    return (left > 7) ? vld1q_u16(order) : (left > 3) ? vld1q_u16(last) : vidupq_n_u16(0, 1);
}

/* sums + the products of a row of the window, n, and the weights of four channels; `flip` has the bits to flip. */
LT_APART static void whole_row(int32_t sums[4], const int8_t *x, const int16_t *const w[4], int32_t at, int32_t n,
                               int16x8_t flip)
{
    const int16_t *a = w[0] + at, *b = w[1] + at, *c = w[2] + at, *d = w[3] + at;
    const uint16x8_t eight = order_of(8);
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (int32_t left = n >> 3; left > 0; left--, x += 8, a += 8, b += 8, c += 8, d += 8) {
        int16x8_t bytes = veorq_s16(vldrbq_gather_offset_s16(x, eight), flip);
        s0 = vmladavaq_s16(s0, bytes, vld1q_s16(a));
        s1 = vmladavaq_s16(s1, bytes, vld1q_s16(b));
        s2 = vmladavaq_s16(s2, bytes, vld1q_s16(c));
        s3 = vmladavaq_s16(s3, bytes, vld1q_s16(d));
    }
    n &= 7;
    if (n > 0) {
        mve_pred16_t some = vctp16q((uint32_t)n);
        int16x8_t bytes = veorq_s16(vldrbq_gather_offset_z_s16(x, order_of(n), some), flip);
        s0 = vmladavaq_s16(s0, bytes, vldrhq_z_s16(a, some));
        s1 = vmladavaq_s16(s1, bytes, vldrhq_z_s16(b, some));
        s2 = vmladavaq_s16(s2, bytes, vldrhq_z_s16(c, some));
        s3 = vmladavaq_s16(s3, bytes, vldrhq_z_s16(d, some));
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* The same where all but products `from` to `to` - 1 are padding, `zero`; the first of them is at x. */
LT_APART static void cut_row(int32_t sums[4], const int8_t *x, const int16_t *const w[4], int32_t at, int32_t n,
                             int16x8_t flip, int32_t from, int32_t to, int16x8_t zero)
{
    for (int32_t k = 0; k < n; k += 8) {
        mve_pred16_t some = vctp16q((uint32_t)(n - k)), there;
        uint16x8_t place = vaddq_n_u16(order_of(n - k), (uint16_t)k);
        there = vcmpcsq_m_n_u16(place, (uint16_t)from, some);
        there = vcmphiq_m_u16(vdupq_n_u16((uint16_t)to), place, there);
        int16x8_t bytes = zero;
        if (from < to) {
            place = vsubq_n_u16(place, (uint16_t)from);
            bytes = vpselq_s16(veorq_s16(vldrbq_gather_offset_z_s16(x, place, there), flip), zero, there);
        }
        for (int32_t i = 0; i < 4; i++) {
            sums[i] = vmladavaq_s16(sums[i], bytes, vldrhq_z_s16(w[i] + at + k, some));
        }
    }
}

LT_SHARED void lt_w9_conv(const lt_w9_s8 *p, const lt_step *step)
{
    int32_t in_c = p->in_c, run = p->kernel_w * in_c, each = p->kernel_h * run;
    const int16x8_t flip = vdupq_n_s16((int16_t)-p->flip), zero = vdupq_n_s16(p->input_zero);
    for (int32_t i = 0; i < p->count; i += 4) {
        const lanes of = lanes_of(p, i);
        const int16_t *w[4];
        for (int32_t k = 0; k < 4; k++) {
            w[k] = p->weights + (((i + k) < p->count) ? (i + k) : i) * each;
        }
        int32_t first = -p->pad_left;
        int8_t *out = step->out[0];
        for (int32_t x = p->out_w; x > 0; x--, first += p->stride_w, out += p->out_c) {
            int32_t from, to, sums[4];
            taps_of(p, first, &from, &to);
            vst1q_s32(sums, of.bias);
            for (int32_t ky = 0, at = 0; ky < p->kernel_h; ky++, at += run) {
                const int8_t *row = step->in[ky];
                if (row == NULL) {
                    cut_row(sums, row, w, at, run, flip, 0, 0, zero);
                } else if ((to - from) == p->kernel_w) {
                    whole_row(sums, row + (first * in_c), w, at, run, flip);
                } else {
                    const int8_t *begin = row + ((first + from) * in_c);
                    cut_row(sums, begin, w, at, run, flip, from * in_c, to * in_c, zero);
                }
            }
            put(p, &of, vld1q_s32(sums), out);
        }
    }
}

#endif
