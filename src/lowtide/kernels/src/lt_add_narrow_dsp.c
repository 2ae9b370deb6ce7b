/* SPDX-License-Identifier: Apache-2.0 */
/* lt_add_narrow_dsp.c: see lt_add_narrow.h. For cores with Arm's DSP extension. */
#include "lt_add_narrow.h"

#include "lt_fixed.h"

#ifdef LT_DSP

#define UNUSED __attribute__((unused))

/* r0 sum, r1 a, r2 b, r3 out, r4 and r5 under way; r6 start, r7 b_start, r8 b_half, r9 b_multiplier, r10
 * b_shift, r11 centre, r12 multiplier, lr shift. */
#define SUM /* 52 bytes */                                                                           \
    "ldrsb r0, [r1], #1\n\t"                                                                         \
    "ldrsb r4, [r2], #1\n\t"                                                                         \
    "add r0, r6, r0, lsl #20\n\t"                                                                    \
    "add r4, r7, r4, lsl #21\n\t"                                                                    \
    "add r5, r8, r4, asr #31\n\t"                                                                    \
    "smmlar r4, r4, r9, r5\n\t"                                                                      \
    "asr.w r4, r4, r10\n\t"                                                                          \
    "add r0, r0, r4, lsl #1\n\t"                                                                     \
    "add r5, r11, r0, asr #31\n\t"                                                                   \
    "smmlar r0, r0, r12, r5\n\t"                                                                     \
    "asr.w r0, r0, lr\n\t"                                                                           \
    "ssat r0, #8, r0, asr #1\n\t"                                                                    \
    "strb r0, [r3], #1\n\t"

/* Four a turn; the first turn begins in its middle where there are other than fours. On the stack: the
 * end of out. */
LT_SHARED __attribute__((naked)) void lt_add_narrow_sums(const lt_add_narrow_s8 *p UNUSED, const int8_t *a UNUSED,
                                              const int8_t *b UNUSED, int8_t *out UNUSED)
{
    __asm__("push {r4-r11, lr}\n\t"
            "ldr r4, [r0, #32]\n\t"
            "rsb r6, r4, #0\n\t"
            "and r6, r6, #3\n\t"
            "mov r7, #52\n\t"
            "adr r5, 2f\n\t"
            "mla r5, r6, r7, r5\n\t"
            "add r4, r4, r3\n\t"
            "orr r5, r5, #1\n\t"
            "push {r4, r5}\n\t"
            "ldm r0, {r6-r12, lr}\n\t"
            "ldr pc, [sp, #4]\n\t"
            ".balign 4\n"
            "2:\n\t" SUM SUM SUM SUM
            "ldr r0, [sp]\n\t"
            "cmp r3, r0\n\t"
            "bne 2b\n\t"
            "add sp, sp, #8\n\t"
            "pop {r4-r11, pc}");
}

#endif
