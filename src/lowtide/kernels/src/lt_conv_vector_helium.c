/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_vector_helium.c: see lt_conv_vector.h. For cores with Arm's Helium.
 *
 * Nearly all functions in assembly, since a compiler would have to find registers for all of it at once;
 * lt_conv_vector.c says the same in C. VMLADAVA adds up in even registers only, so sums are there and
 * everything else is in odd ones. Products beyond the last are loaded as zeros.
 */
#include "lt_conv_vector.h"

#include <stddef.h>

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* Of two pixels: sums of channels 0 to 3 in r0, r2, r4, r6 and in r8, r10, r12, lr; r1 record, r3 and r5
 * products, r7 output, r9 chunks left, r11 groups left; q0 and q1, or q5 and q6, products, q2 and q3 weights,
 * q4 zero, q7 where results go, p0 the last products; on the stack x[0], x[1], chunks, records, out, groups,
 * out_c, turns, next. The weights of a channel are `advance` / 4 bytes from the next one's. */
#define PRODUCTS_2(one, other, advance, second, third, fourth)                                       \
    "vldrb.u8 q2, [r1], #" advance "\n\t"                                                            \
    "vldrb.u8 q3, [r1, #" second "]\n\t"                                                             \
    "vmladava.s8 r0, " one ", q2\n\t"                                                                \
    "vmladava.s8 r8, " other ", q2\n\t"                                                              \
    "vldrb.u8 q2, [r1, #" third "]\n\t"                                                              \
    "vmladava.s8 r2, " one ", q3\n\t"                                                                \
    "vmladava.s8 r10, " other ", q3\n\t"                                                             \
    "vldrb.u8 q3, [r1, #" fourth "]\n\t"                                                             \
    "vmladava.s8 r4, " one ", q2\n\t"                                                                \
    "vmladava.s8 r12, " other ", q2\n\t"                                                             \
    "vmladava.s8 r6, " one ", q3\n\t"                                                                \
    "vmladava.s8 lr, " other ", q3\n\t"
#define BIASES                                                                                       \
    "ldm r1, {r0, r2, r4, r6}\n\t"                                                                   \
    "ldm r1!, {r8, r10, r12, lr}\n\t"
/* Sums as TFLM rounds them: halves up, then halves away from zero, by an addition of -1 to what is below
 * zero (AWAY), which need not be where that is clamped. Results of both pixels are in turns. */
#define AWAY                                                                                         \
    "vshr.s32 q2, q0, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q2\n\t"                                                                        \
    "vshr.s32 q2, q1, #31\n\t"                                                                       \
    "vadd.i32 q1, q1, q2\n\t"
#define TIMES                                                                                        \
    "vldrw.u32 q2, [r1], #16\n\t"                                                                    \
    "vldrw.u32 q3, [r1], #16\n\t"                                                                    \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vqrdmulh.s32 q1, q1, q2\n\t"
/* The same of any factors: sums are shifted left where exponents (q3) are above 0, and the rest of those is
 * below 0 where results are rounded twice. */
#define LEFT_OF_ANY                                                                                  \
    "vldrw.u32 q3, [r1, #16]\n\t"                                                                    \
    "vmov.i32 q2, #0\n\t"                                                                            \
    "vmax.s32 q2, q2, q3\n\t"                                                                        \
    "vsub.i32 q3, q3, q2\n\t"
#define AWAY_OF_ANY(sum)                                                                             \
    "vand q2, " sum ", q3\n\t"                                                                       \
    "vshr.s32 q2, q2, #31\n\t"                                                                       \
    "vadd.i32 " sum ", " sum ", q2\n\t"
#define ANY_TIMES                                                                                    \
    LEFT_OF_ANY                                                                                      \
    "vshl.s32 q0, q0, q2\n\t"                                                                        \
    "vshl.s32 q1, q1, q2\n\t"                                                                        \
    "vldrw.u32 q2, [r1], #32\n\t"                                                                    \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vqrdmulh.s32 q1, q1, q2\n\t" AWAY_OF_ANY("q0") AWAY_OF_ANY("q1")
#define PUT_2(SCALED)                                                                                \
    "vmov q0[2], q0[0], r0, r4\n\t"                                                                  \
    "vmov q0[3], q0[1], r2, r6\n\t"                                                                  \
    "vmov q1[2], q1[0], r8, r12\n\t"                                                                 \
    "vmov q1[3], q1[1], r10, lr\n\t" SCALED                                                          \
    "vrshl.s32 q0, q0, q3\n\t"                                                                       \
    "vrshl.s32 q1, q1, q3\n\t"                                                                       \
    "vqmovnb.s32 q0, q0\n\t"                                                                         \
    "vqmovnt.s32 q0, q1\n\t"                                                                         \
    "vqadd.s16 q0, q0, q4\n\t"                                                                       \
    "vqmovnb.s16 q0, q0\n\t"                                                                         \
    "vstrb.16 q0, [r7, q7]\n\t"                                                                      \
    "add r7, r7, #4\n\t"                                                                             \
    "subs r11, r11, #1\n\t"
#define TWO(SCALED, advance, second, third, fourth)                                                   \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "vpush {d8-d15}\n\t"                                                                     \
            "ldrd r1, r2, [r0, #36]\n\t"                                                             \
            "ldr r3, [r0, #24]\n\t"                                                                  \
            "mov r4, #0\n\t"                                                                         \
            "vctp.8 r1\n\t"                                                                          \
            "vdup.16 q4, r2\n\t"                                                                     \
            "vidup.u16 q7, r4, #1\n\t"                                                               \
            "vdup.32 q5, r3\n\t"                                                                     \
            "vshr.u16 q7, q7, #1\n\t"                                                                \
            "vshl.i32 q5, q5, #16\n\t"                                                               \
            "vadd.i16 q7, q7, q5\n\t"                                                                \
            "ldm r0, {r1-r9}\n\t"                                                                    \
            "push {r1-r9}\n"                                                                         \
            "1:\n\t"                                                                                 \
            "ldr r1, [sp, #12]\n\t"                                                                  \
            "ldrd r7, r11, [sp, #16]\n\t"                                                            \
            "ldm sp, {r3, r5, r9}\n\t"                                                               \
            "cmp r9, #0\n\t"                                                                         \
            "bne 3f\n\t"                                                                             \
            "vpstt\n\t"                                                                              \
            "vldrbt.u8 q5, [r3]\n\t"                                                                 \
            "vldrbt.u8 q6, [r5]\n"                                                                   \
            "2:\n\t" BIASES PRODUCTS_2("q5", "q6", advance, second, third, fourth) PUT_2(SCALED)      \
            "bne 2b\n\t"                                                                             \
            "b 5f\n"                                                                                 \
            "3:\n\t"                                                                                 \
            "ldm sp, {r3, r5, r9}\n\t" BIASES                                                        \
            "4:\n\t"                                                                                 \
            "vldrb.u8 q0, [r3], #16\n\t"                                                             \
            "vldrb.u8 q1, [r5], #16\n\t" PRODUCTS_2("q0", "q1", "64", "-48", "-32", "-16")           \
            "subs r9, r9, #1\n\t"                                                                    \
            "bne 4b\n\t"                                                                             \
            "vpstt\n\t"                                                                              \
            "vldrbt.u8 q0, [r3]\n\t"                                                                 \
            "vldrbt.u8 q1, [r5]\n\t" PRODUCTS_2("q0", "q1", advance, second, third, fourth)          \
            PUT_2(SCALED)                                                                            \
            "bne 3b\n"                                                                               \
            "5:\n\t"                                                                                 \
            "ldrd r0, r2, [sp, #24]\n\t" /* out_c, turns */                                          \
            "ldr r3, [sp, #32]\n\t"                                                                  \
            "ldr r1, [sp, #16]\n\t"                                                                  \
            "ldrd r4, r5, [sp]\n\t"                                                                  \
            "add r1, r1, r0, lsl #1\n\t"                                                             \
            "str r1, [sp, #16]\n\t"                                                                  \
            "add r4, r4, r3\n\t"                                                                     \
            "add r5, r5, r3\n\t"                                                                     \
            "strd r4, r5, [sp]\n\t"                                                                  \
            "subs r2, r2, #1\n\t"                                                                    \
            "str r2, [sp, #28]\n\t"                                                                  \
            "bne 1b\n\t"                                                                             \
            "add sp, sp, #36\n\t"                                                                    \
            "vpop {d8-d15}\n\t"                                                                      \
            "pop {r4-r11, pc}")

LT_SHARED NAKED void lt_vector_two_8(const lt_vector *of UNUSED)
{
    TWO(TIMES AWAY, "32", "-24", "-16", "-8");
}

LT_SHARED NAKED void lt_vector_two_16(const lt_vector *of UNUSED)
{
    TWO(TIMES AWAY, "64", "-48", "-32", "-16");
}

LT_SHARED NAKED void lt_vector_above_8(const lt_vector *of UNUSED)
{
    TWO(TIMES, "32", "-24", "-16", "-8");
}

LT_SHARED NAKED void lt_vector_above_16(const lt_vector *of UNUSED)
{
    TWO(TIMES, "64", "-48", "-32", "-16");
}

LT_SHARED NAKED void lt_vector_two_any_8(const lt_vector *of UNUSED)
{
    TWO(ANY_TIMES, "32", "-24", "-16", "-8");
}

LT_SHARED NAKED void lt_vector_two_any_16(const lt_vector *of UNUSED)
{
    TWO(ANY_TIMES, "64", "-48", "-32", "-16");
}

/* Of one pixel: sums in r0, r2, r4, r6; r1 record, r3 products, r5 where they begin, r7 output, r8 turns
 * left, r9 chunks, r11 groups left, r12 zero, lr chunks left; q0 products, q1 low, q2 and q3
 * weights. On the stack where `of` is. */
#define PRODUCTS_1(advance, second, third, fourth)                                                   \
    "vldrb.u8 q2, [r1], #" advance "\n\t"                                                            \
    "vldrb.u8 q3, [r1, #" second "]\n\t"                                                             \
    "vmladava.s8 r0, q0, q2\n\t"                                                                     \
    "vldrb.u8 q2, [r1, #" third "]\n\t"                                                              \
    "vmladava.s8 r2, q0, q3\n\t"                                                                     \
    "vldrb.u8 q3, [r1, #" fourth "]\n\t"                                                             \
    "vmladava.s8 r4, q0, q2\n\t"                                                                     \
    "vmladava.s8 r6, q0, q3\n\t"
#define ONE_TIMES                                                                                    \
    "vldrw.u32 q2, [r1], #16\n\t"                                                                    \
    "vldrw.u32 q3, [r1], #16\n\t"                                                                    \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vshr.s32 q2, q0, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q2\n\t"
#define ONE_ANY_TIMES                                                                                \
    LEFT_OF_ANY                                                                                      \
    "vshl.s32 q0, q0, q2\n\t"                                                                        \
    "vldrw.u32 q2, [r1], #32\n\t"                                                                    \
    "vqrdmulh.s32 q0, q0, q2\n\t" AWAY_OF_ANY("q0")
#define ONE(SCALED, advance, second, third, fourth)                                                          \
    __asm__("push {r0, r4-r9, r11, lr}\n\t"                                                          \
            "ldrd r1, r12, [r0, #36]\n\t"                                                            \
            "ldr r3, [r0, #44]\n\t"                                                                  \
            "vctp.8 r1\n\t"                                                                          \
            "vdup.32 q1, r3\n\t"                                                                     \
            "ldr r5, [r0]\n\t"                                                                       \
            "ldr r9, [r0, #8]\n\t"                                                                   \
            "ldr r7, [r0, #16]\n\t"                                                                  \
            "ldr r8, [r0, #28]\n"                                                                    \
            "1:\n\t"                                                                                 \
            "ldr r1, [r0, #12]\n\t"                                                                  \
            "ldr r11, [r0, #20]\n"                                                                   \
            "2:\n\t"                                                                                 \
            "mov r3, r5\n\t"                                                                         \
            "ldm r1!, {r0, r2, r4, r6}\n\t"                                                          \
            "wls lr, r9, 4f\n"                                                                       \
            "3:\n\t"                                                                                 \
            "vldrb.u8 q0, [r3], #16\n\t" PRODUCTS_1("64", "-48", "-32", "-16")                       \
            "le lr, 3b\n"                                                                            \
            "4:\n\t"                                                                                 \
            "vpst\n\t"                                                                               \
            "vldrbt.u8 q0, [r3]\n\t" PRODUCTS_1(advance, second, third, fourth)                      \
            "vmov q0[2], q0[0], r0, r4\n\t"                                                          \
            "vmov q0[3], q0[1], r2, r6\n\t" SCALED                                                   \
            "vrshl.s32 q0, q0, q3\n\t"                                                               \
            "vadd.i32 q0, q0, r12\n\t"                                                               \
            "ldr r0, [sp]\n\t"                                                                       \
            "ldr r2, [r0, #48]\n\t"                                                                  \
            "vdup.32 q2, r2\n\t"                                                                    \
            "vmax.s32 q0, q0, q1\n\t"                                                                \
            "vmin.s32 q0, q0, q2\n\t"                                                                \
            "vstrb.32 q0, [r7], #4\n\t"                                                              \
            "subs r11, r11, #1\n\t"                                                                  \
            "bne 2b\n\t"                                                                             \
            "ldr r0, [sp]\n\t"                                                                       \
            "ldrd r1, r2, [r0, #20]\n\t" /* groups, out_c */                                         \
            "ldr r3, [r0, #32]\n\t"                                                                  \
            "sub r7, r7, r1, lsl #2\n\t"                                                             \
            "add r7, r7, r2\n\t"                                                                     \
            "add r5, r5, r3\n\t"                                                                     \
            "subs r8, r8, #1\n\t"                                                                    \
            "bne 1b\n\t"                                                                             \
            "pop {r0, r4-r9, r11, pc}")

LT_SHARED NAKED void lt_vector_one_8(const lt_vector *of UNUSED)
{
    ONE(ONE_TIMES, "32", "-24", "-16", "-8");
}

LT_SHARED NAKED void lt_vector_one_16(const lt_vector *of UNUSED)
{
    ONE(ONE_TIMES, "64", "-48", "-32", "-16");
}

LT_SHARED NAKED void lt_vector_one_any_8(const lt_vector *of UNUSED)
{
    ONE(ONE_ANY_TIMES, "32", "-24", "-16", "-8");
}

LT_SHARED NAKED void lt_vector_one_any_16(const lt_vector *of UNUSED)
{
    ONE(ONE_ANY_TIMES, "64", "-48", "-32", "-16");
}

/* r0 to, r1 rows, r2 offset, r3 a row, r4 how many are left, r5 bytes, r6 pitch, r12 where they go; q1 padding,
 * q2 flip. */
LT_SHARED NAKED void lt_vector_copy(int8_t *to UNUSED, const void *const *rows UNUSED,
                                    int32_t offset UNUSED, const lt_vector_rows *of UNUSED)
{
    __asm__("push {r4-r8, lr}\n\t"
            "ldm r3, {r4-r8}\n\t"
            "vdup.8 q1, r7\n\t"
            "vdup.8 q2, r8\n"
            "1:\n\t"
            "ldr r3, [r1], #4\n\t"
            "mov r12, r0\n\t"
            "cbz r3, 4f\n\t"
            "add r3, r3, r2\n\t"
            "wlstp.8 lr, r5, 3f\n"
            "2:\n\t"
            "vldrb.u8 q0, [r3], #16\n\t"
            "veor q0, q0, q2\n\t"
            "vstrb.8 q0, [r12], #16\n\t"
            "letp lr, 2b\n"
            "3:\n\t"
            "add r0, r0, r6\n\t"
            "subs r4, r4, #1\n\t"
            "bne 1b\n\t"
            "pop {r4-r8, pc}\n"
            "4:\n\t"
            "wlstp.8 lr, r5, 6f\n"
            "5:\n\t"
            "vstrb.8 q1, [r12], #16\n\t"
            "letp lr, 5b\n"
            "6:\n\t"
            "b 3b");
}

/* r0 and r12 to, r1 rows, r2 offset, r3 and r5 rows, r6 pitch, r9 next, lr rows left; q2 padding, q3 flip, p0
 * the bytes of a row. */
LT_SHARED NAKED void lt_vector_copy_two(int8_t *to UNUSED, const void *const *rows UNUSED,
                                        int32_t offset UNUSED, const lt_vector_rows *of UNUSED)
{
    __asm__("push {r4-r9, lr}\n\t"
            "ldm r3, {r4-r9}\n\t"
            "vctp.8 r5\n\t"
            "vdup.8 q2, r7\n\t"
            "vdup.8 q3, r8\n\t"
            "mla r12, r4, r6, r0\n\t"
            "dls lr, r4\n"
            "1:\n\t"
            "ldr r3, [r1], #4\n\t"
            "cbz r3, 3f\n\t"
            "add r3, r3, r2\n\t"
            "add r5, r3, r9\n\t"
            "vpstt\n\t"
            "vldrbt.u8 q0, [r3]\n\t"
            "vldrbt.u8 q1, [r5]\n\t"
            "veor q0, q0, q3\n\t"
            "veor q1, q1, q3\n"
            "2:\n\t"
            "vpstt\n\t"
            "vstrbt.8 q0, [r0]\n\t"
            "vstrbt.8 q1, [r12]\n\t"
            "add r0, r0, r6\n\t"
            "add r12, r12, r6\n\t"
            "le lr, 1b\n\t"
            "pop {r4-r9, pc}\n"
            "3:\n\t"
            "vmov q0, q2\n\t"
            "vmov q1, q2\n\t"
            "b 2b");
}

LT_SHARED void lt_vector_pick(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_places *of)
{
    const uint8x16_t places = vld1q_u8(of->places), taps = vld1q_u8(of->taps);
    const int8x16_t padding = vdupq_n_s8((int8_t)of->padding), flip = vdupq_n_s8((int8_t)of->flip);
    mve_pred16_t some = vctp8q((uint32_t)of->bytes), there = 0;
    if (of->from < of->to) {
        there = (mve_pred16_t)(vcmpcsq_n_u8(taps, (uint8_t)of->from) &
                               vcmpcsq_u8(vdupq_n_u8((uint8_t)(of->to - 1)), taps) & some);
    }
    for (int32_t left = of->rows; left > 0; left--, to += of->bytes) {
        const int8_t *row = *rows++;
        int8x16_t x = padding;
        if (row != NULL) {
            x = veorq_s8(vldrbq_gather_offset_z_s8(row + offset, places, there), flip);
            x = vpselq_s8(x, padding, there);
        }
        vstrbq_p_s8(to, x, some);
    }
}

/* r0 bytes, r1 how many are left, r2 low, r3 high. */
LT_SHARED NAKED void lt_vector_clamp(int8_t *at UNUSED, int32_t n UNUSED, int32_t low UNUSED,
                                     int32_t high UNUSED)
{
    __asm__("push {r7, lr}\n\t"
            "vdup.8 q1, r2\n\t"
            "vdup.8 q2, r3\n\t"
            "wlstp.8 lr, r1, 2f\n"
            "1:\n\t"
            "vldrb.u8 q0, [r0]\n\t"
            "vmax.s8 q0, q0, q1\n\t"
            "vmin.s8 q0, q0, q2\n\t"
            "vstrb.8 q0, [r0], #16\n\t"
            "letp lr, 1b\n"
            "2:\n\t"
            "pop {r7, pc}");
}

/* r0 to, r1 the value, r2 bytes left. */
LT_SHARED NAKED void lt_vector_fill(int8_t *to UNUSED, int32_t value UNUSED, int32_t n UNUSED)
{
    __asm__("push {r7, lr}\n\t"
            "vdup.8 q0, r1\n\t"
            "wlstp.8 lr, r2, 2f\n"
            "1:\n\t"
            "vstrb.8 q0, [r0], #16\n\t"
            "letp lr, 1b\n"
            "2:\n\t"
            "pop {r7, pc}");
}

#endif
