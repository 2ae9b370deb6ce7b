/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_lanes_helium.c: see lt_depthwise_lanes.h. For cores with Arm's Helium.
 *
 * 3 x 3 in assembly, since a compiler keeps neither weights nor pointers in registers;
 * lt_depthwise_lanes.c says the same in C.
 */
#include "lt_depthwise_lanes.h"

#include <stddef.h>

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
/* As in lt_conv_lanes_helium.c. q2 biases, then multipliers, q3 shifts, q4 high. */
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

/* What windows would add to a sum that are all padding: the other way round, what is left out of the
 * biases where padding is left out of the sum. */
static inline int32x4_t all_padding(const lt_taps *of, const int8_t *w)
{
    int32x4_t sum = vdupq_n_s32(0);
    for (int32_t left = of->kernel_h * of->kernel_w; left > 0; left--, w += 4) {
        sum = vaddq_s32(sum, vldrbq_s32(w));
    }
    return vmulq_n_s32(sum, of->padding);
}

/* Four channels of the window that begins in column `first` of those that are read, without padding. */
static int32x4_t edge(int32x4_t sum, const lt_taps *of, int32_t c, const int8_t *w, int32_t first)
{
    int32_t from = first < of->from ? of->from - first : 0, pitch = of->pitch;
    int32_t to = of->to - first < of->kernel_w ? of->to - first : of->kernel_w;
    int32_t skipped = (first + from - of->from) * pitch + c;
    for (int32_t ky = 0; ky < of->kernel_h; ky++, w += 4 * of->kernel_w) {
        const int8_t *x = of->rows[ky], *weights = w + 4 * from;
        if (x != NULL) {
            x += skipped;
            for (int32_t left = to - from; left > 0; left--, weights += 4, x += pitch) {
                int32x4_t column = vsubq_n_s32(vldrbq_s32(x), of->padding);
                sum = vaddq_s32(sum, vmulq_s32(column, vldrbq_s32(weights)));
            }
        }
    }
    return sum;
}

/* Both windows, which have no padding. */
static inline void inside(const lt_taps *of, int32_t c, const int8_t *w, int32x4_t sums[2])
{
    int32_t pitch = of->pitch, next = of->stride * pitch;
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        const int8_t *x = of->rows[ky] + c;
        for (int32_t kx = of->kernel_w; kx > 0; kx--, x += pitch, w += 4) {
            int32x4_t weights = vldrbq_s32(w);
            sums[0] = vaddq_s32(sums[0], vmulq_s32(vldrbq_s32(x), weights));
            sums[1] = vaddq_s32(sums[1], vmulq_s32(vldrbq_s32(x + next), weights));
        }
    }
}

LT_SHARED void lt_taps_any(const lt_taps *of)
{
    const int8_t *w = (const int8_t *)of->records;
    int32_t words = of->kernel_h * of->kernel_w;
    int32_t whole = of->from == 0 && of->to == of->kernel_w + of->stride;
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        whole &= of->rows[ky] != NULL;
    }
    for (int32_t c = 0; c < 4 * of->groups; c += 4, w += 4 * words + 48) {
        const int32_t *scale = (const int32_t *)(const void *)w + words;
        int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
        if (whole) {
            inside(of, c, w, sums);
        } else {
            int32x4_t padding = all_padding(of, w);
            if (!of->again) {
                sums[0] = edge(padding, of, c, w, 0);
            }
            sums[1] = edge(padding, of, c, w, of->stride);
        }
        vstrbq_s32(of->out + of->other + c, scaled(sums[1], scale, of));
        if (whole || !of->again) {
            vstrbq_s32(of->out + c, scaled(sums[0], scale, of));
        }
    }
}

#endif
