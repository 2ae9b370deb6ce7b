/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_vector_helium.c: see lt_depthwise_vector.h. For cores with Arm's Helium.
 *
 * 3 x 3 in assembly, since a compiler keeps neither weights nor pointers in registers;
 * lt_depthwise_vector.c says the same in C.
 */
#include "lt_depthwise_vector.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* r1 record, r2 pitch, r3 where the next column is, r4 to r6 rows, r7 output, r8 zero, r9 groups left,
 * r10 the second pixel's output, r11 pitch - 4, r12 high, lr padding; q0 and q1 sums of the pixels, q2 to
 * q4 weights of a row, q5 a column, q6 products, q7 low. */
#define BEGIN                                                                                        \
    "push {r4-r11, lr}\n\t"                                                                          \
    "vpush {d8-d15}\n\t"                                                                             \
    "ldm r0!, {r4, r5, r6}\n\t"                                                                      \
    "ldrd r1, r7, [r0, #16]\n\t"                                                                     \
    "ldrd r2, r10, [r0, #24]\n\t"                                                                    \
    "ldrd r9, r8, [r0, #32]\n\t"                                                                     \
    "ldrd r3, r12, [r0, #40]\n\t"                                                                    \
    "ldr lr, [r0, #48]\n\t"                                                                          \
    "sub r11, r2, #4\n\t"                                                                            \
    "vdup.32 q7, r3\n"
/* Weights; then columns of a row: COLUMN is the first, NEXT all others but the LAST. */
#define WEIGHTS                                                                                      \
    "vldrb.s32 q2, [r1], #4\n\t"                                                                     \
    "vldrb.s32 q3, [r1], #4\n\t"                                                                     \
    "vldrb.s32 q4, [r1], #4\n\t"
#define COLUMN(row)                                                                                  \
    "vldrb.s32 q5, [" row "], #4\n\t"                                                                \
    "add r3, " row ", r11\n\t"
#define NEXT                                                                                         \
    "vldrb.s32 q5, [r3]\n\t"                                                                         \
    "add r3, r3, r2\n\t"
#define LAST "vldrb.s32 q5, [r3]\n\t"
/* A column, or padding, times weights: added to a sum, or the first of it. */
#define ADD(sum, weights)                                                                            \
    "vmul.i32 q6, q5, " weights "\n\t"                                                               \
    "vadd.i32 " sum ", " sum ", q6\n\t"
#define SET(sum, weights) "vmul.i32 " sum ", q5, " weights "\n\t"
#define ADD_PADDING(sum, weights) "vmla.s32 " sum ", " weights ", lr\n\t"
#define SET_PADDING(sum, weights) "vmul.i32 " sum ", " weights ", lr\n\t"
/* A row of two windows, one column or two apart; PUT is SET in the first row, else ADD. */
#define ROW_1(row, PUT)                                                                              \
    WEIGHTS COLUMN(row) PUT("q0", "q2")                                                              \
    NEXT ADD("q0", "q3") PUT("q1", "q2")                                                             \
    NEXT ADD("q0", "q4") ADD("q1", "q3")                                                             \
    LAST ADD("q1", "q4")
#define ROW_1_FIRST(row, PUT)                                                                        \
    WEIGHTS PUT##_PADDING("q0", "q2")                                                                \
    COLUMN(row) ADD("q0", "q3") PUT("q1", "q2")                                                      \
    NEXT ADD("q0", "q4") ADD("q1", "q3")                                                             \
    LAST ADD("q1", "q4")
#define ROW_1_LAST(row, PUT)                                                                         \
    WEIGHTS COLUMN(row) PUT("q0", "q2")                                                              \
    NEXT ADD("q0", "q3") PUT("q1", "q2")                                                             \
    LAST ADD("q0", "q4") ADD("q1", "q3")                                                             \
    ADD_PADDING("q1", "q4")
#define ROW_2(row, PUT)                                                                              \
    WEIGHTS COLUMN(row) PUT("q0", "q2")                                                              \
    NEXT ADD("q0", "q3")                                                                             \
    NEXT ADD("q0", "q4") PUT("q1", "q2")                                                             \
    NEXT ADD("q1", "q3")                                                                             \
    LAST ADD("q1", "q4")
#define ROW_2_FIRST(row, PUT)                                                                        \
    WEIGHTS PUT##_PADDING("q0", "q2")                                                                \
    COLUMN(row) ADD("q0", "q3")                                                                      \
    NEXT ADD("q0", "q4") PUT("q1", "q2")                                                             \
    NEXT ADD("q1", "q3")                                                                             \
    LAST ADD("q1", "q4")
#define ROW_2_LAST(row, PUT)                                                                         \
    WEIGHTS COLUMN(row) PUT("q0", "q2")                                                              \
    NEXT ADD("q0", "q3")                                                                             \
    NEXT ADD("q0", "q4") PUT("q1", "q2")                                                             \
    LAST ADD("q1", "q3")                                                                             \
    ADD_PADDING("q1", "q4")
/* A row of padding. */
#define NO_ROW(PUT)                                                                                  \
    WEIGHTS "vadd.i32 q5, q2, q3\n\t"                                                                \
            "vadd.i32 q5, q5, q4\n\t" PUT##_PADDING("q0", "q5") PUT##_PADDING("q1", "q5")
/* As in lt_conv_vector_helium.c. q2 biases, then multipliers, q3 shifts, q4 high. */
#define SCALE(sum)                                                                                   \
    "vshr.s32 q5, " sum ", #31\n\t"                                                                  \
    "vadd.i32 " sum ", " sum ", q5\n\t"                                                              \
    "vrshl.s32 " sum ", " sum ", q3\n\t"                                                             \
    "vadd.i32 " sum ", " sum ", r8\n\t"                                                              \
    "vmax.s32 " sum ", " sum ", q7\n\t"                                                              \
    "vmin.s32 " sum ", " sum ", q4\n\t"
#define STORE                                                                                        \
    "vldrw.u32 q2, [r1], #16\n\t"                                                                    \
    "vdup.32 q4, r12\n\t"                                                                            \
    "vadd.i32 q0, q0, q2\n\t"                                                                        \
    "vadd.i32 q1, q1, q2\n\t"                                                                        \
    "vldrw.u32 q2, [r1], #16\n\t"                                                                    \
    "vldrw.u32 q3, [r1], #16\n\t"                                                                    \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vqrdmulh.s32 q1, q1, q2\n\t" SCALE("q0") SCALE("q1")                                            \
    "add r3, r7, r10\n\t"                                                                            \
    "vstrb.32 q1, [r3]\n\t"                                                                          \
    "vstrb.32 q0, [r7], #4\n\t"
#define THREE(name, ROW)                                                                             \
    LT_SHARED NAKED void name(const lt_taps *of UNUSED)                                              \
    {                                                                                                \
        __asm__(BEGIN                                                                                \
                "1:\n\t"                                                                             \
                "cmp r4, #0\n\t"                                                                     \
                "beq 4f\n\t" ROW("r4", SET)                                                          \
                "2:\n\t" ROW("r5", ADD)                                                              \
                "cmp r6, #0\n\t"                                                                     \
                "beq 5f\n\t" ROW("r6", ADD)                                                          \
                "3:\n\t" STORE                                                                       \
                "subs r9, r9, #1\n\t"                                                                \
                "bne 1b\n\t"                                                                         \
                "vpop {d8-d15}\n\t"                                                                  \
                "pop {r4-r11, pc}\n"                                                                 \
                "4:\n\t" NO_ROW(SET)                                                                 \
                "b 2b\n"                                                                             \
                "5:\n\t" NO_ROW(ADD)                                                                 \
                "b 3b");                                                                             \
    }

THREE(lt_taps_1, ROW_1)
THREE(lt_taps_1_first, ROW_1_FIRST)
THREE(lt_taps_1_last, ROW_1_LAST)
THREE(lt_taps_2, ROW_2)
THREE(lt_taps_2_first, ROW_2_FIRST)
THREE(lt_taps_2_last, ROW_2_LAST)

static inline int32x4_t scaled(int32x4_t sum, const int32_t *scale, const lt_taps *of)
{
    sum = vqrdmulhq_s32(vaddq_s32(sum, vldrwq_s32(scale)), vldrwq_s32(scale + 4));
    sum = vrshlq_s32(vaddq_s32(sum, vshrq_n_s32(sum, 31)), vldrwq_s32(scale + 8));
    sum = vmaxq_s32(vaddq_n_s32(sum, of->zero), vdupq_n_s32(of->low));
    return vminq_s32(sum, vdupq_n_s32(of->high));
}

/* sum + n weights. */
static inline int32x4_t weights_of(int32x4_t sum, const int8_t *w, int32_t n)
{
    for (; n > 0; n--, w += 4) {
        sum = vaddq_s32(sum, vldrbq_s32(w));
    }
    return sum;
}

/* A column of a row of two windows: of the first alone, of both, of the second alone; `v` are the weights
 * that met this column's neighbour in the first window, then its own. */
#define START(v, at)                                                                                 \
    column = vldrbq_s32(x), x += pitch, v = vldrbq_s32(w + (at));                                    \
    one = vaddq_s32(one, vmulq_s32(column, v));
#define STEP(v, at)                                                                                  \
    column = vldrbq_s32(x), x += pitch, other = vaddq_s32(other, vmulq_s32(column, v));              \
    v = vldrbq_s32(w + (at)), one = vaddq_s32(one, vmulq_s32(column, v));
#define END(v) column = vldrbq_s32(x), x += pitch, other = vaddq_s32(other, vmulq_s32(column, v));
/* Four channels of both windows, of which some rows are padding and no columns. */
#define WHOLE(name, width, COLUMNS)                                                                  \
    static void name(const lt_taps *of, int32_t c, const int8_t *w, int32x4_t sums[2])               \
    {                                                                                                \
        int32x4_t one = vdupq_n_s32(0), other = one, pads = one, column, p, q;                       \
        int32_t pitch = of->pitch;                                                                   \
        for (int32_t ky = 0; ky < of->kernel_h; ky++, w += 4 * (width)) {                            \
            const int8_t *x = of->rows[ky];                                                          \
            if (x == NULL) {                                                                         \
                pads = weights_of(pads, w, width);                                                   \
                continue;                                                                            \
            }                                                                                        \
            x += c;                                                                                  \
            COLUMNS                                                                                  \
        }                                                                                            \
        pads = vmulq_n_s32(pads, of->padding);                                                       \
        sums[0] = vaddq_s32(one, pads);                                                              \
        sums[1] = vaddq_s32(other, pads);                                                            \
        (void)q;                                                                                     \
    }

WHOLE(whole_5_1, 5, START(p, 0) STEP(p, 4) STEP(p, 8) STEP(p, 12) STEP(p, 16) END(p))
WHOLE(whole_5_2, 5, START(p, 0) START(q, 4) STEP(p, 8) STEP(q, 12) STEP(p, 16) END(q) END(p))
WHOLE(whole_7_1, 7,
      START(p, 0) STEP(p, 4) STEP(p, 8) STEP(p, 12) STEP(p, 16) STEP(p, 20) STEP(p, 24) END(p))
WHOLE(whole_7_2, 7,
      START(p, 0) START(q, 4) STEP(p, 8) STEP(q, 12) STEP(p, 16) STEP(q, 20) STEP(p, 24) END(q) END(p))

LT_SHARED void lt_taps_wide(const lt_taps *of)
{
    const int8_t *w = (const int8_t *)of->records;
    int32_t words = of->kernel_h * of->kernel_w;
    int32_t wide = of->kernel_w == 7, two = of->stride == 2;
    for (int32_t c = 0; c < (4 * of->groups); c += 4, w += (4 * words) + 48) {
        const int32_t *scale = (const int32_t *)(const void *)w + words;
        int32x4_t sums[2];
        (wide ? two ? whole_7_2 : whole_7_1 : two ? whole_5_2 : whole_5_1)(of, c, w, sums);
        vstrbq_s32(of->out + of->other + c, scaled(sums[1], scale, of));
        if (!of->again) {
            vstrbq_s32(of->out + c, scaled(sums[0], scale, of));
        }
    }
}

/* sum + n taps, whose weights are *w, and behind them the next. */
static inline int32x4_t taps(int32x4_t sum, const int8_t *x, const int8_t **w, int32_t n, int32_t next)
{
    const int8_t *weights = *w;
    int32x4_t byte, weight;
    __asm__("wls lr, %[n], 2f\n"
            "1:\n\t"
            "vldrb.s32 %q[byte], [%[x]]\n\t"
            "add %[x], %[x], %[next]\n\t"
            "vldrb.s32 %q[weight], [%[w]], #4\n\t"
            "vmul.i32 %q[byte], %q[byte], %q[weight]\n\t"
            "vadd.i32 %q[sum], %q[sum], %q[byte]\n\t"
            "le lr, 1b\n"
            "2:"
            : [sum] "+w"(sum), [x] "+r"(x), [w] "+l"(weights), [byte] "=&w"(byte), [weight] "=&w"(weight)
            : [n] "r"(n), [next] "r"(next)
            : "lr", "memory");
    *w = weights;
    return sum;
}

/* The same of eight channels; the weights of the last four are `far` bytes behind those of the first four. */
static inline const int8_t *taps_of_eight(int32x4_t sums[2], const int8_t *x, const int8_t *w, int32_t far, int32_t n,
                                          int32_t next)
{
    const int8_t *v = w + far;
    int32x4_t one = sums[0], two = sums[1], byte, weight;
    __asm__("wls lr, %[n], 2f\n"
            "1:\n\t"
            "vldrb.s32 %q[byte], [%[x]]\n\t"
            "vldrb.s32 %q[weight], [%[w]], #4\n\t"
            "vmul.i32 %q[byte], %q[byte], %q[weight]\n\t"
            "vldrb.s32 %q[weight], [%[v]], #4\n\t"
            "vadd.i32 %q[one], %q[one], %q[byte]\n\t"
            "vldrb.s32 %q[byte], [%[x], #4]\n\t"
            "add %[x], %[x], %[next]\n\t"
            "vmul.i32 %q[byte], %q[byte], %q[weight]\n\t"
            "vadd.i32 %q[two], %q[two], %q[byte]\n\t"
            "le lr, 1b\n"
            "2:"
            : [one] "+w"(one), [two] "+w"(two), [x] "+l"(x), [w] "+l"(w), [v] "+l"(v), [byte] "=&w"(byte),
              [weight] "=&w"(weight)
            : [n] "r"(n), [next] "r"(next)
            : "lr", "memory");
    sums[0] = one;
    sums[1] = two;
    return w;
}

/* Sums and what is below zero of factors' exponents to results. */
LT_INLINE void put_one(const lt_one *of, int8_t *out, int32x4_t sum, int32x4_t pads, const int8_t *record, int32_t any)
{
    const int32_t *scale = (const int32_t *)(const void *)record;
    sum = vmlaq_n_s32(vaddq_s32(sum, vldrwq_s32(scale)), pads, of->padding);
    int32x4_t shift = vldrwq_s32(scale + 8);
    if (any != 0) {
        int32x4_t above = vmaxq_s32(shift, vdupq_n_s32(0));
        shift = vsubq_s32(shift, above);
        sum = vqrdmulhq_s32(vshlq_s32(sum, above), vldrwq_s32(scale + 4));
        sum = vaddq_s32(sum, vshrq_n_s32(vandq_s32(sum, shift), 31));
    } else {
        sum = vqrdmulhq_s32(sum, vldrwq_s32(scale + 4));
        sum = vaddq_s32(sum, vshrq_n_s32(sum, 31));
    }
    sum = vmaxq_s32(vaddq_n_s32(vrshlq_s32(sum, shift), of->zero), vdupq_n_s32(of->low));
    vstrbq_s32(out, vminq_s32(sum, vdupq_n_s32(of->high)));
}

/* Four channels from `offset` on in rows, whose record is at w. */
LT_INLINE void four_channels(const lt_one *of, int32_t offset, const int8_t *w, int8_t *out, int32_t any)
{
    int32_t width = of->before + of->inside + of->after;
    int32x4_t sum = vdupq_n_s32(0), pads = sum;
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        const int8_t *row = of->rows[ky];
        if (row == NULL) {
            pads = weights_of(pads, w, width);
            w += 4 * width;
            continue;
        }
        pads = weights_of(pads, w, of->before);
        w += 4 * of->before;
        sum = taps(sum, row + offset, &w, of->inside, of->next);
        pads = weights_of(pads, w, of->after);
        w += 4 * of->after;
    }
    put_one(of, out, sum, pads, w, any);
}

/* Eight channels; some columns are padding if the window is `cut`, which is known when this is compiled. */
LT_INLINE void eight_channels(const lt_one *of, int32_t offset, const int8_t *w, int32_t far, int8_t *out, int32_t any,
                              int32_t cut)
{
    int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)}, pads[2] = {sums[0], sums[0]};
    const void *const *rows = of->rows;
    int32_t before = cut ? of->before : 0, inside = of->inside, after = cut ? of->after : 0;
    for (int32_t ky = of->kernel_h; ky > 0; ky--) {
        const int8_t *row = *rows++;
        if (row == NULL) {
            pads[0] = weights_of(pads[0], w, before + inside + after);
            pads[1] = weights_of(pads[1], w + far, before + inside + after);
            w += 4 * (before + inside + after);
            continue;
        }
        if (cut != 0) {
            pads[0] = weights_of(pads[0], w, before);
            pads[1] = weights_of(pads[1], w + far, before);
            w += 4 * before;
        }
        w = taps_of_eight(sums, row + offset, w, far, inside, of->next);
        if (cut != 0) {
            pads[0] = weights_of(pads[0], w, after);
            pads[1] = weights_of(pads[1], w + far, after);
            w += 4 * after;
        }
    }
    put_one(of, out, sums[0], pads[0], w, any);
    put_one(of, out + 4, sums[1], pads[1], w + far, any);
}

LT_INLINE void one_pixel(const lt_one *all, int32_t any)
{
    const lt_one of = *all; /* a copy, as stores might alias it */
    const int8_t *w = (const int8_t *)of.records;
    int32_t offset = of.offset, left = of.channels;
    int32_t far = (4 * of.kernel_h * (of.before + of.inside + of.after)) + 48;
    int8_t *out = of.out;
    int32_t cut = (of.before + of.after) > 0;
    for (; left >= 8; left -= 8, offset += 8, out += 8, w += 2 * far) {
        if (cut != 0) {
            eight_channels(&of, offset, w, far, out, any, 1);
        } else {
            eight_channels(&of, offset, w, far, out, any, 0);
        }
    }
    for (; left > 0; left -= 4, offset += 4, out += 4, w += far) {
        if (left < 4) { /* some of the last four again */
            offset -= 4 - left;
            out -= 4 - left;
        }
        four_channels(&of, offset, w, out, any);
    }
}

LT_SHARED void lt_taps_one(const lt_one *of)
{
    one_pixel(of, 0);
}

LT_SHARED void lt_taps_one_any(const lt_one *of)
{
    one_pixel(of, 1);
}

static inline void put_tall(const lt_tall *of, int8_t *out, int32x4_t sum, const int8_t *record)
{
    const int32_t *scale = (const int32_t *)(const void *)record;
    sum = vqrdmulhq_s32(vaddq_s32(sum, vldrwq_s32(scale)), vldrwq_s32(scale + 4));
    sum = vrshlq_s32(vaddq_s32(sum, vshrq_n_s32(sum, 31)), vldrwq_s32(scale + 8));
    sum = vmaxq_s32(vaddq_n_s32(sum, of->zero), vdupq_n_s32(of->low));
    vstrbq_s32(out, vminq_s32(sum, vdupq_n_s32(of->high)));
}

/* Eight channels at once; of four that are left, twice the same. */
LT_SHARED void lt_taps_tall(const lt_tall *of)
{
    const int8_t *w = (const int8_t *)of->records;
    int32_t height = of->kernel_h, inside = of->inside, padding = of->padding;
    for (int32_t c = 0; c < (4 * of->groups); c += 8) {
        int32_t more = (c + 4) < (4 * of->groups), offset = of->offset + c, other = 4 * more;
        const int8_t *v = w + (more ? ((4 * height) + 48) : 0);
        const void *const *rows = of->rows;
        int32x4_t one = vdupq_n_s32(0), two = one;
        for (int32_t n = height; n > 0; n--, w += 4, v += 4) {
            const int8_t *x = *rows++;
            if ((x != NULL) && inside) {
                x += offset;
                one = vaddq_s32(one, vmulq_s32(vldrbq_s32(x), vldrbq_s32(w)));
                two = vaddq_s32(two, vmulq_s32(vldrbq_s32(x + other), vldrbq_s32(v)));
            } else {
                one = vaddq_s32(one, vmulq_n_s32(vldrbq_s32(w), padding));
                two = vaddq_s32(two, vmulq_n_s32(vldrbq_s32(v), padding));
            }
        }
        put_tall(of, of->out + c + other, two, v);
        put_tall(of, of->out + c, one, w);
        w = v + 48;
    }
}

#endif
