/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_2x2_dsp.c: see lt_conv_2x2.h. For cores with Arm's DSP extension.
 *
 * Whole functions in assembly, since a compiler would keep some of it on the stack; lt_conv_2x2.c says
 * the same in C. A turn is of two fours of products, an odd one comes first.
 */
#include "lt_conv_2x2.h"

#include "lt_fixed.h"

#if defined(LT_DSP) && !defined(LT_HELIUM)

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* Sums r4 to r7; r1 weights, r2 how far those of the other channel are; r3 pixel, r12 how many bytes the
 * other one is behind; r8 and r9 weights, r10 and r11 pixels, r0 two weights as halves; lr turns. */
#define PAIR                                                                                         \
    "ldr r9, [r1, r2]\n\t"                                                                           \
    "ldr r8, [r1], #4\n\t"                                                                           \
    "ldr r11, [r3, r12]\n\t"                                                                         \
    "ldr r10, [r3], #4\n\t"                                                                          \
    "sxtb16 r0, r8\n\t"                                                                              \
    "smlad r4, r0, r10, r4\n\t"                                                                      \
    "smlad r6, r0, r11, r6\n\t"                                                                      \
    "sxtb16 r0, r9\n\t"                                                                              \
    "smlad r5, r0, r10, r5\n\t"                                                                      \
    "smlad r7, r0, r11, r7\n\t"                                                                      \
    "ldr r11, [r3, r12]\n\t"                                                                         \
    "ldr r10, [r3], #4\n\t"                                                                          \
    "sxtb16 r8, r8, ror #8\n\t"                                                                      \
    "smlad r4, r8, r10, r4\n\t"                                                                      \
    "smlad r6, r8, r11, r6\n\t"                                                                      \
    "sxtb16 r9, r9, ror #8\n\t"                                                                      \
    "smlad r5, r9, r10, r5\n\t"                                                                      \
    "smlad r7, r9, r11, r7\n\t"
/* Turns of two fours, whose number is in lr; r0 is kept on the stack. */
#define TURNS(four)                                                                                  \
    "ldm r0, {r4-r7}\n\t"                                                                            \
    "push {r0}\n\t"                                                                                  \
    "lsrs lr, lr, #1\n\t"                                                                            \
    "bcc 1f\n\t" four "1:\n\t"                                                                       \
    "cmp lr, #0\n\t"                                                                                 \
    "beq 3f\n"                                                                                       \
    "2:\n\t" four four "subs lr, lr, #1\n\t"                                                         \
    "bne 2b\n"                                                                                       \
    "3:\n\t"                                                                                         \
    "pop {r0}\n\t"                                                                                   \
    "stm r0, {r4-r7}\n\t"
LT_SHARED NAKED void lt_2x2_pair(int32_t *sums UNUSED, const int8_t *w UNUSED, int32_t channel UNUSED,
                                  const int16_t *x UNUSED, int32_t pixel UNUSED, int32_t fours UNUSED)
{
    __asm__("push {r4-r11, lr}\n\t"
            "ldrd r12, lr, [sp, #36]\n\t"
            "lsl r12, r12, #1\n\t" TURNS(PAIR) "pop {r4-r11, pc}");
}

/* Sums r4 to r7; r1 weights, r12 those of the third channel, r2 how far those of the next channel are;
 * r3 pixel; r10 and r11 products, r8 weights, r9 two of them as halves; lr turns. */
#define ONE(sum)                                                                                     \
    "sxtb16 r9, r8\n\t"                                                                              \
    "smlad " sum ", r9, r10, " sum "\n\t"                                                            \
    "sxtb16 r8, r8, ror #8\n\t"                                                                      \
    "smlad " sum ", r8, r11, " sum "\n\t"
#define SINGLE                                                                                       \
    "ldr r10, [r3], #4\n\t"                                                                          \
    "ldr r11, [r3], #4\n\t"                                                                          \
    "ldr r8, [r1, r2]\n\t" ONE("r5")                                                                 \
    "ldr r8, [r1], #4\n\t" ONE("r4")                                                                 \
    "ldr r8, [r12, r2]\n\t" ONE("r7")                                                                \
    "ldr r8, [r12], #4\n\t" ONE("r6")
LT_SHARED NAKED void lt_2x2_single(int32_t *sums UNUSED, const int8_t *w UNUSED, int32_t channel UNUSED,
                                    const int16_t *x UNUSED, int32_t fours UNUSED, int32_t other UNUSED)
{
    __asm__("push {r4-r11, lr}\n\t"
            "ldrd lr, r12, [sp, #36]\n\t"
            "add r12, r1, r12\n\t" TURNS(SINGLE) "pop {r4-r11, pc}");
}

#endif
