/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9_helium.c: see lt_w9.h. For cores with Arm's Helium: a lane is a channel. */
#include "lt_w9.h"

#include <stddef.h>

#include "lt_elem.h"
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
    of.far = vpselq_u32(of.far, vdupq_n_u32(0), of.some); /* lanes of no channel read what the first one does */
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

/* sum + n taps; a byte of each is at x, and the next ones are `next` bytes apart. */
static inline int32x4_t taps(int32x4_t sum, const int8_t *x, const int16_t *w, int32_t n, int32_t next, const lanes *of)
{
    int32x4_t byte, weight;
    __asm__("wls lr, %[n], 2f\n"
            "1:\n\t"
            "vldrb.s32 %q[byte], [%[x], %q[in]]\n\t"
            "vldrh.s32 %q[weight], [%[w], %q[far], uxtw #1]\n\t"
            "add %[x], %[x], %[next]\n\t"
            "add %[w], %[w], #2\n\t"
            "vmul.i32 %q[byte], %q[byte], %q[weight]\n\t"
            "vadd.i32 %q[sum], %q[sum], %q[byte]\n\t"
            "le lr, 1b\n"
            "2:"
            : [sum] "+w"(sum), [x] "+r"(x), [w] "+r"(w), [byte] "=&w"(byte), [weight] "=&w"(weight)
            : [n] "r"(n), [next] "r"(next), [in] "w"(of->in), [far] "w"(of->far)
            : "lr", "memory");
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
                sum = taps(sum, row + at, w + from, to - from, next, &of);
                w += to;
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

/* Some windows side by side that read the same columns of rows: `left` of them, n bytes of each row, whose weights are
 * at w, and `skip` behind them those of the next row. The first begins `offset` bytes from where rows do; rows of
 * padding are left out. `flip` has the bits to flip. */
typedef struct {
    const void *const *rows, *const *end;
    int32_t offset, n, skip, left;
    int16x8_t flip;
} windows;

/* By four channels; `flat`, known when this is compiled, if rows are one, which is no padding. */
LT_INLINE void by_four(const lt_w9_s8 *p, const lanes *of, const int32_t bias[4], const windows *in,
                       const int16_t *const w[4], int8_t *out, int32_t flat)
{
    const uint16x8_t eight = order_of(8);
    int32_t n = in->n >> 3, rest = in->n & 7, offset = in->offset;
    const int16x8_t flip = in->flip;
    for (int32_t left = in->left; left > 0; left--, offset += p->stride_w * p->in_c, out += p->out_c) {
        const int16_t *a = w[0], *b = w[1], *c = w[2], *d = w[3];
        int32_t s0 = bias[0], s1 = bias[1], s2 = bias[2], s3 = bias[3];
        for (const void *const *row = in->rows; row != in->end; row++) {
            const int8_t *x = *row;
            int32_t skip = in->skip;
            int16x8_t bytes, weights;
            if ((flat == 0) && (x == NULL)) {
                skip += in->n;
            } else {
                x += offset;
                __asm__("wls lr, %[n], 2f\n"
                        "1:\n\t"
                        "vldrb.s16 %q[bytes], [%[x], %q[eight]]\n\t"
                        "vldrh.u16 %q[weights], [%[a]], #16\n\t"
                        "veor %q[bytes], %q[bytes], %q[flip]\n\t"
                        "vmladava.s16 %[s0], %q[bytes], %q[weights]\n\t"
                        "vldrh.u16 %q[weights], [%[b]], #16\n\t"
                        "vmladava.s16 %[s1], %q[bytes], %q[weights]\n\t"
                        "vldrh.u16 %q[weights], [%[c]], #16\n\t"
                        "vmladava.s16 %[s2], %q[bytes], %q[weights]\n\t"
                        "vldrh.u16 %q[weights], [%[d]], #16\n\t"
                        "vmladava.s16 %[s3], %q[bytes], %q[weights]\n\t"
                        "add %[x], %[x], #8\n\t"
                        "le lr, 1b\n"
                        "2:"
                        : [s0] "+Te"(s0), [s1] "+Te"(s1), [s2] "+Te"(s2), [s3] "+Te"(s3), [x] "+r"(x), [a] "+r"(a),
                          [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [bytes] "=&w"(bytes), [weights] "=&w"(weights)
                        : [n] "r"(n), [eight] "w"(eight), [flip] "w"(flip)
                        : "lr", "memory");
                if (rest > 0) {
                    mve_pred16_t some = vctp16q((uint32_t)rest);
                    bytes = veorq_s16(vldrbq_gather_offset_z_s16(x, order_of(rest), some), flip);
                    s0 = vmladavaq_s16(s0, bytes, vldrhq_z_s16(a, some));
                    s1 = vmladavaq_s16(s1, bytes, vldrhq_z_s16(b, some));
                    s2 = vmladavaq_s16(s2, bytes, vldrhq_z_s16(c, some));
                    s3 = vmladavaq_s16(s3, bytes, vldrhq_z_s16(d, some));
                    skip += rest;
                }
            }
            if (flat != 0) {
                break;
            }
            a += skip;
            b += skip;
            c += skip;
            d += skip;
        }
        int32x4_t sum = vsetq_lane_s32(s1, vdupq_n_s32(s0), 1);
        put(p, of, vsetq_lane_s32(s3, vsetq_lane_s32(s2, sum, 2), 3), out);
    }
}

LT_APART static void windows_of_four(const lt_w9_s8 *p, const lanes *of, const int32_t bias[4], const windows *in,
                                     const int16_t *const w[4], int8_t *out)
{
    by_four(p, of, bias, in, w, out, 0);
}

LT_APART static void pixels_of_four(const lt_w9_s8 *p, const lanes *of, const int32_t bias[4], const windows *in,
                                    const int16_t *const w[4], int8_t *out)
{
    by_four(p, of, bias, in, w, out, 1);
}

static inline int8_t result(const lt_w9_s8 *p, int32_t sum, int32_t multiplier, int32_t shift)
{
    if (p->narrow != 0) {
        shift = -1 - shift;
        sum = lt_narrow_s8(lt_add(sum, sum), multiplier, lt_centre((2 * p->output_zero) + 1, shift), shift);
    } else {
        sum = lt_add(lt_scale(sum, multiplier, shift), p->output_zero);
    }
    return (int8_t)lt_clamp(sum, p->low, p->high);
}

/* By channel i. */
LT_APART static void windows_of_one(const lt_w9_s8 *p, int32_t bias, const windows *in, const int16_t *w, int32_t i,
                                    int8_t *out)
{
    int32_t n = in->n >> 3, rest = in->n & 7, offset = in->offset, skip = in->skip + rest;
    int32_t multiplier = p->multiplier[i], shift = p->shift[i];
    const uint16x8_t eight = order_of(8), last = order_of(rest);
    const mve_pred16_t some = vctp16q((uint32_t)rest);
    const int16x8_t flip = in->flip;
    out += p->channels[i];
    for (int32_t left = in->left; left > 0; left--, offset += p->stride_w * p->in_c, out += p->out_c) {
        int32_t sum = bias;
        const int16_t *a = w;
        for (const void *const *row = in->rows; row != in->end; row++) {
            const int8_t *x = *row;
            int16x8_t bytes, weights;
            if (x == NULL) {
                a += in->n + in->skip;
                continue;
            }
            x += offset;
            __asm__("wls lr, %[n], 2f\n"
                    "1:\n\t"
                    "vldrb.s16 %q[bytes], [%[x], %q[eight]]\n\t"
                    "vldrh.u16 %q[weights], [%[a]], #16\n\t"
                    "veor %q[bytes], %q[bytes], %q[flip]\n\t"
                    "vmladava.s16 %[sum], %q[bytes], %q[weights]\n\t"
                    "add %[x], %[x], #8\n\t"
                    "le lr, 1b\n"
                    "2:"
                    : [sum] "+Te"(sum), [x] "+r"(x), [a] "+r"(a), [bytes] "=&w"(bytes), [weights] "=&w"(weights)
                    : [n] "r"(n), [eight] "w"(eight), [flip] "w"(flip)
                    : "lr", "memory");
            if (rest > 0) {
                sum = vmladavaq_s16(sum, veorq_s16(vldrbq_gather_offset_z_s16(x, last, some), flip),
                                    vldrhq_z_s16(a, some));
            }
            a += skip;
        }
        *out = result(p, sum, multiplier, shift);
    }
}

/* sums + what n bytes of padding add, whose weights are `at` behind w. */
LT_APART static void add_padding(const lt_w9_s8 *p, int32_t sums[4], const int16_t *const w[4], int32_t at, int32_t n)
{
    for (int32_t i = 0; i < 4; i++) {
        int32_t total = 0;
        for (int32_t k = 0; k < n; k += 8) {
            mve_pred16_t some = vctp16q((uint32_t)(n - k));
            total = vaddvaq_p_s16(total, vldrhq_z_s16(w[i] + at + k, some), some);
        }
        sums[i] = lt_add(sums[i], total * p->input_zero);
    }
}

/* sums + the products of a window, of whose rows all bytes but `from` to `to` - 1 are padding; the first of them is
 * `offset` bytes from where rows do. */
LT_APART static void add_cut(const lt_w9_s8 *p, int32_t sums[4], const windows *in, int32_t offset,
                             const int16_t *const w[4], int32_t from, int32_t to)
{
    const int16x8_t zero = vdupq_n_s16(p->input_zero);
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (int32_t k = 0; k < in->n; k += 8) {
        mve_pred16_t some = vctp16q((uint32_t)(in->n - k)), there;
        uint16x8_t place = vaddq_n_u16(order_of(in->n - k), (uint16_t)k);
        there = vcmpcsq_m_n_u16(place, (uint16_t)from, some);
        there = vcmphiq_m_u16(vdupq_n_u16((uint16_t)to), place, there);
        place = vsubq_n_u16(place, (uint16_t)from);
        int32_t at = k;
        for (const void *const *row = in->rows; row != in->end; row++, at += in->n) {
            const int8_t *x = *row;
            if (x != NULL) {
                int16x8_t bytes = veorq_s16(vldrbq_gather_offset_z_s16(x + offset, place, there), in->flip);
                bytes = vpselq_s16(bytes, zero, there);
                s0 = vmladavaq_s16(s0, bytes, vldrhq_z_s16(w[0] + at, some));
                s1 = vmladavaq_s16(s1, bytes, vldrhq_z_s16(w[1] + at, some));
                s2 = vmladavaq_s16(s2, bytes, vldrhq_z_s16(w[2] + at, some));
                s3 = vmladavaq_s16(s3, bytes, vldrhq_z_s16(w[3] + at, some));
            }
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* A window that begins in column `first`, some columns of which are padding, by four channels from i on. */
LT_APART static void cut_window(const lt_w9_s8 *p, const lanes *of, const int32_t bias[4], const windows *in,
                                const int16_t *const w[4], int32_t i, int32_t first, int8_t *out)
{
    int32_t in_c = p->in_c, run = in->n, from, to, sums[4];
    taps_of(p, first, &from, &to);
    from *= in_c;
    to *= in_c;
    vst1q_s32(sums, vld1q_s32(bias));
    if (((in_c & 3) != 0) && (from < to)) { /* columns have no whole fours */
        add_cut(p, sums, in, (first * in_c) + from, w, from, to);
        put(p, of, vld1q_s32(sums), out);
        return;
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        if (in->rows[ky] != NULL) {
            add_padding(p, sums, w, ky * run, from);
            add_padding(p, sums, w, (ky * run) + to, run - to);
        }
    }
    const windows one = {in->rows, in->end, (first * in_c) + from, to - from, run - (to - from), 1, in->flip};
    const int16_t *const v[4] = {w[0] + from, w[1] + from, w[2] + from, w[3] + from};
    if ((p->count - i) == 1) {
        windows_of_one(p, sums[0], &one, v[0], i, out);
    } else {
        windows_of_four(p, of, sums, &one, v, out);
    }
}

LT_SHARED void lt_w9_conv(const lt_w9_s8 *p, const lt_step *step)
{
    int32_t run = p->kernel_w * p->in_c, each = p->kernel_h * run, end = 0, begin = 0;
    int32_t reach = p->in_w - p->kernel_w + p->pad_left, flat = (p->kernel_h == 1) && (step->in[0] != NULL);
    if (reach >= 0) { /* columns whose windows have no padding */
        end = (reach / p->stride_w) + 1;
        end = (end < p->out_w) ? end : p->out_w;
        begin = (p->pad_left + p->stride_w - 1) / p->stride_w;
        begin = (begin < end) ? begin : end;
    }
    windows in = {step->in, step->in + p->kernel_h, ((begin * p->stride_w) - p->pad_left) * p->in_c, run, 0,
                  end - begin, vdupq_n_s16((int16_t)-p->flip)};
    for (int32_t i = 0; i < p->count; i += 4) {
        int32_t sums[4], alone = (p->count - i) == 1;
        const lanes of = lanes_of(p, i);
        int8_t *out = (int8_t *)step->out[0] + (begin * p->out_c);
        const int16_t *w[4];
        vst1q_s32(sums, of.bias);
        for (int32_t k = 0; k < 4; k++) {
            w[k] = p->weights + (((i + k) < p->count) ? (i + k) : i) * each;
        }
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            if (step->in[ky] == NULL) {
                add_padding(p, sums, w, ky * run, run);
            }
        }
        if (alone != 0) {
            windows_of_one(p, sums[0], &in, w[0], i, out);
        } else {
            (flat ? pixels_of_four : windows_of_four)(p, &of, sums, &in, w, out);
        }
        for (int32_t x = (begin > 0) ? 0 : end; x < p->out_w; x = ((x + 1) == begin) ? end : (x + 1)) {
            int32_t first = (x * p->stride_w) - p->pad_left;
            cut_window(p, &of, sums, &in, w, i, first, (int8_t *)step->out[0] + (x * p->out_c));
        }
    }
}

#endif
