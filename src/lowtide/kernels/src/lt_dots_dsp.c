/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dots_dsp.c: see lt_dots.h. For cores with Arm's DSP extension.
 *
 * In assembly, since a compiler would keep some of it on the stack; lt_dots.c says the same in C.
 */
#include "lt_dots.h"

#include "lt_fixed.h"

#if defined(LT_DSP) && !defined(LT_HELIUM)

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* Sums r4 to r7; r1 weights, r12 those of the third row, r2 how far those of the next row are; r3 x; r8 and r9
 * products 0 and 2, and 1 and 3, of x as halves, r10 and r11 those of the weights; lr turns. */
#define ONE(sum)                                                                                     \
    "sxtb16 r10, r11\n\t"                                                                            \
    "smlad " sum ", r10, r8, " sum "\n\t"                                                            \
    "sxtb16 r11, r11, ror #8\n\t"                                                                    \
    "smlad " sum ", r11, r9, " sum "\n\t"
#define FOUR                                                                                         \
    "ldr r9, [r3], #4\n\t"                                                                           \
    "sxtb16 r8, r9\n\t"                                                                              \
    "sxtb16 r9, r9, ror #8\n\t"                                                                      \
    "ldr r11, [r1, r2]\n\t" ONE("r5")                                                                \
    "ldr r11, [r1], #4\n\t" ONE("r4")                                                                \
    "ldr r11, [r12, r2]\n\t" ONE("r7")                                                               \
    "ldr r11, [r12], #4\n\t" ONE("r6")
#define EACH                                                                                         \
    "ldrsb r9, [r3], #1\n\t"                                                                         \
    "ldrsb r11, [r1, r2]\n\t"                                                                        \
    "mla r5, r9, r11, r5\n\t"                                                                        \
    "ldrsb r11, [r1], #1\n\t"                                                                        \
    "mla r4, r9, r11, r4\n\t"                                                                        \
    "ldrsb r11, [r12, r2]\n\t"                                                                       \
    "mla r7, r9, r11, r7\n\t"                                                                        \
    "ldrsb r11, [r12], #1\n\t"                                                                       \
    "mla r6, r9, r11, r6\n\t"
/* A turn is of two fours. */
LT_SHARED NAKED void lt_dots_s8(int32_t *sums UNUSED, const int8_t *w UNUSED, int32_t next UNUSED,
                                const int8_t *x UNUSED, int32_t n UNUSED, int32_t other UNUSED)
{
    __asm__("push {r4-r11, lr}\n\t"
            "ldrd lr, r12, [sp, #36]\n\t"
            "add r12, r1, r12\n\t"
            "ldm r0, {r4-r7}\n\t"
            "lsrs lr, lr, #3\n\t"
            "beq 2f\n"
            "1:\n\t" FOUR FOUR "subs lr, lr, #1\n\t"
            "bne 1b\n"
            "2:\n\t"
            "ldr lr, [sp, #36]\n\t"
            "tst lr, #4\n\t"
            "beq 3f\n\t" FOUR "3:\n\t"
            "ands lr, lr, #3\n\t"
            "beq 5f\n"
            "4:\n\t" EACH "subs lr, lr, #1\n\t"
            "bne 4b\n"
            "5:\n\t"
            "stm r0, {r4-r7}\n\t"
            "pop {r4-r11, pc}");
}

#endif
