/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_columns_dsp.c: see lt_depthwise_columns.h. For cores with Arm's DSP extension.
 *
 * Whole functions in assembly, since a compiler would have to find registers for all of it at once;
 * lt_depthwise_columns.c says the same in C.
 */
#include "lt_depthwise_columns.h"

#include "lt_fixed.h"

#ifdef LT_DSP

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* r0 to, r1 from, r2 left, r3 mask; r10 and r11 how far the next ones are. */
LT_SHARED NAKED void lt_columns_weights(int32_t *to UNUSED, const int32_t *from UNUSED, int32_t count UNUSED,
                                        uint32_t mask UNUSED, int32_t from_next UNUSED, int32_t next UNUSED)
{
    __asm__("push {r4-r11}\n\t"
            "ldrd r10, r11, [sp, #32]\n"
            "1:\n\t"
            "ldm r1, {r4, r5}\n\t"
            "add r1, r1, r10\n\t"
            "and r4, r4, r3\n\t"
            "and r5, r5, r3\n\t"
            "sxtb16 r6, r4\n\t"
            "sxtb16 r7, r4, ror #8\n\t"
            "sxtb16 r8, r5\n\t"
            "sxtb16 r9, r5, ror #8\n\t"
            "stm r0, {r6-r9}\n\t"
            "add r0, r0, r11\n\t"
            "subs r2, r2, #1\n\t"
            "bne 1b\n\t"
            "pop {r4-r11}\n\t"
            "bx lr");
}

/* r0 to, r1 row, r2 how far the other is, r3 pitch, r12 base, lr from column to column, r10 columns left. */
LT_SHARED NAKED void lt_columns_unpack(const lt_columns_source *from UNUSED, int32_t *to UNUSED,
                                       int32_t count UNUSED, int32_t next UNUSED)
{
    __asm__("push {r4-r10, lr}\n\t"
            "mov lr, r3\n\t"
            "mov r10, r2\n\t"
            "mov r4, r1\n\t"
            "ldm r0, {r1, r2, r3, r12}\n\t"
            "mov r0, r4\n"
            "1:\n\t"
            "ldr r5, [r1, r2]\n\t"
            "ldr r4, [r1]\n\t"
            "add r1, r1, r3\n\t"
            "sxtab16 r8, r12, r4\n\t"
            "sxtab16 r9, r12, r5\n\t"
            "sxtab16 r4, r12, r4, ror #8\n\t"
            "sxtab16 r5, r12, r5, ror #8\n\t"
            "pkhbt r6, r8, r9, lsl #16\n\t"
            "pkhtb r7, r9, r8, asr #16\n\t"
            "pkhbt r8, r4, r5, lsl #16\n\t"
            "pkhtb r9, r5, r4, asr #16\n\t"
            "stm r0, {r6-r9}\n\t"
            "add r0, r0, lr\n\t"
            "subs r10, r10, #1\n\t"
            "bne 1b\n\t"
            "pop {r4-r10, pc}");
}

/* Scale a sum, as lt_narrow_s8, and put it `at` bytes from `out`; the shift is the low byte of r12, `t` is
 * free. */
#define SCALE(sum, multiplier, odd, t, put)                                                          \
    "lsl " sum ", " sum ", #1\n\t"                                                                   \
    "lsl " t ", " odd ", r12\n\t"                                                                    \
    "add " t ", " t ", " sum ", asr #31\n\t"                                                         \
    "smmlar " sum ", " sum ", " multiplier ", " t "\n\t"                                             \
    "asr " sum ", " sum ", r12\n\t"                                                                  \
    "ssat " sum ", #8, " sum ", asr #1\n\t"                                                          \
    "strb " sum ", " put "\n\t"
#define NEXT_SHIFT "lsr r12, r12, #8\n\t"
/* The same of any factors, as lt_broad, by the four words at `scales`: r8 multiplier, r9 shifts, r10 centre,
 * r11 -1 if sums are rounded twice, else 0. */
#define SCALE_ANY(sum, scales, t, put)                                                               \
    "ldm " scales "!, {r8-r11}\n\t"                                                                  \
    "lsl " sum ", " sum ", r9\n\t"                                                                   \
    "lsr r9, r9, #8\n\t"                                                                             \
    "and " t ", r11, " sum ", asr #31\n\t"                                                           \
    "add " t ", " t ", r10\n\t"                                                                      \
    "smmlar " sum ", " sum ", r8, " t "\n\t"                                                         \
    "asr " sum ", " sum ", r9\n\t"                                                                   \
    "ssat " sum ", #8, " sum "\n\t"                                                                  \
    "strb " sum ", " put "\n\t"

/* r0 words, r1 weights; r4 to r7 sums of channels 0 to 3; r8 to r11 words, r2, r3, r12 and lr weights. */
#define FOUR /* 24 bytes */                                                                          \
    "ldm r0!, {r8-r11}\n\t"                                                                          \
    "ldm r1!, {r2, r3, r12, lr}\n\t"                                                                 \
    "smlad r4, r8, r2, r4\n\t"                                                                       \
    "smlad r6, r9, r3, r6\n\t"                                                                       \
    "smlad r5, r10, r12, r5\n\t"                                                                     \
    "smlad r7, r11, lr, r7\n\t"

/* From sums to results at r3. */
#define SUMS_SCALED                                                                                  \
    "ldm r3, {r8-r12}\n\t"                                                                           \
    "ldrd r2, r3, [sp, #16]\n\t"                                                                     \
    SCALE("r4", "r8", "r2", "lr", "[r3]") NEXT_SHIFT SCALE("r5", "r9", "r2", "lr", "[r3, #1]")       \
    NEXT_SHIFT SCALE("r6", "r10", "r2", "lr", "[r3, #2]") NEXT_SHIFT                                 \
    SCALE("r7", "r11", "r2", "lr", "[r3, #3]")
#define SUMS_ANY                                                                                     \
    "mov r12, r3\n\t"                                                                                \
    "ldr r3, [sp, #20]\n\t"                                                                          \
    SCALE_ANY("r4", "r12", "lr", "[r3]") SCALE_ANY("r5", "r12", "lr", "[r3, #1]")                    \
    SCALE_ANY("r6", "r12", "lr", "[r3, #2]") SCALE_ANY("r7", "r12", "lr", "[r3, #3]")

/* Four columns and pairs of rows a turn; the first turn begins in its middle where there are other than
 * fours. On the stack: 0 windows, 4 their end, 8 biases, 12 scales, 16 odd, 20 out, 24 pitch, 28 base,
 * 32 the end of the words. */
#define SUM(SCALED)                                                                                  \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "ldm r0, {r1-r8}\n\t"                                                                    \
            "sub sp, sp, #4\n\t"                                                                     \
            "push {r1-r8}\n"                                                                         \
            "1:\n\t"                                                                                 \
            "ldr r2, [sp]\n\t"                                                                       \
            "ldr r12, [sp, #8]\n\t"                                                                  \
            "ldm r2!, {r0, r1, r3}\n\t"                                                              \
            "str r2, [sp]\n\t"                                                                       \
            "ldr r2, [sp, #28]\n\t"                                                                  \
            "ldm r12, {r4-r7}\n\t"                                                                   \
            "add r0, r0, r2\n\t"                                                                     \
            "add r1, r1, r2\n\t"                                                                     \
            "add r2, r0, r3\n\t"                                                                     \
            "str r2, [sp, #32]\n\t"                                                                  \
            "rsbs r3, r3, #0\n\t"                                                                    \
            "beq 4f\n\t"                                                                             \
            "and r3, r3, #48\n\t"                                                                    \
            "add r3, r3, r3, lsr #1\n\t"                                                             \
            ".balign 4\n\t"                                                                          \
            "add pc, pc, r3\n\t"                                                                     \
            "nop\n"                                                                                  \
            "2:\n\t" FOUR FOUR FOUR FOUR                                                             \
            "ldr r2, [sp, #32]\n\t"                                                                  \
            "cmp r0, r2\n\t"                                                                         \
            "bne 2b\n"                                                                               \
            "4:\n\t"                                                                                 \
            "ldr r3, [sp, #12]\n\t" SCALED                                                           \
            "ldr r1, [sp, #24]\n\t"                                                                  \
            "add r3, r3, r1\n\t"                                                                     \
            "str r3, [sp, #20]\n\t"                                                                  \
            "ldrd r0, r1, [sp]\n\t"                                                                  \
            "cmp r0, r1\n\t"                                                                         \
            "bne 1b\n\t"                                                                             \
            "add sp, sp, #36\n\t"                                                                    \
            "pop {r4-r11, pc}")

LT_SHARED NAKED void lt_columns_sum(const lt_columns_sums *of UNUSED)
{
    SUM(SUMS_SCALED);
}

LT_SHARED NAKED void lt_columns_sum_any(const lt_columns_sums *of UNUSED)
{
    SUM(SUMS_ANY);
}

/* r1 rows, r2 weights, r3 where the channels are in a row, r8 base; r4 to r7 sums. */
#define PRODUCTS(x, w)                                                                               \
    "sxtab16 r12, r8, " x "\n\t"                                                                     \
    "sxtb16 lr, " w "\n\t"                                                                           \
    "sxtab16 " x ", r8, " x ", ror #8\n\t"                                                           \
    "sxtb16 " w ", " w ", ror #8\n\t"                                                                \
    "smlabb r4, r12, lr, r4\n\t"                                                                     \
    "smlabb r5, " x ", " w ", r5\n\t"                                                                \
    "smlatt r6, r12, lr, r6\n\t"                                                                     \
    "smlatt r7, " x ", " w ", r7\n\t"
#define TWO                                                                                          \
    "ldm r1!, {r9, r10}\n\t"                                                                         \
    "ldm r2!, {r0, r11}\n\t"                                                                         \
    "ldr r9, [r9, r3]\n\t"                                                                           \
    "ldr r10, [r10, r3]\n\t" PRODUCTS("r9", "r0") PRODUCTS("r10", "r11")

/* From sums to results at r1: of the scales at r2, behind which the next record is. */
#define TAPS_SCALED                                                                                  \
    "ldm r2!, {r8-r12}\n\t"                                                                          \
    "ldr r1, [sp]\n\t"                                                                               \
    SCALE("r4", "r8", "lr", "r0", "[r1], #1") NEXT_SHIFT                                             \
    SCALE("r5", "r9", "lr", "r0", "[r1], #1") NEXT_SHIFT                                             \
    SCALE("r6", "r10", "lr", "r0", "[r1], #1") NEXT_SHIFT                                            \
    SCALE("r7", "r11", "lr", "r0", "[r1], #1")
#define TAPS_ANY                                                                                     \
    "ldr r1, [sp]\n\t"                                                                               \
    SCALE_ANY("r4", "r2", "r0", "[r1], #1") SCALE_ANY("r5", "r2", "r0", "[r1], #1")                  \
    SCALE_ANY("r6", "r2", "r0", "[r1], #1") SCALE_ANY("r7", "r2", "r0", "[r1], #1")

/* Four rows a turn; the first turn begins in its middle, and an odd row comes before. On the stack: 0 out,
 * 4 of. */
#define TAP(SCALED)                                                                                  \
    __asm__("push {r0, r4-r11, lr}\n\t"                                                              \
            "ldr r2, [r0]\n\t"                                                                       \
            "ldr r3, [r0, #4]\n\t"                                                                   \
            "ldr r1, [r0, #36]\n\t"                                                                  \
            "push {r1}\n"                                                                            \
            "1:\n\t"                                                                                 \
            "ldr r0, [sp, #4]\n\t"                                                                   \
            "ldr r1, [r0, #8]\n\t"                                                                   \
            "ldr r9, [r0, #12]\n\t"                                                                  \
            "ldr r10, [r0, #16]\n\t"                                                                 \
            "ldr r8, [r0, #28]\n\t"                                                                  \
            "ldm r2!, {r4-r7}\n\t"                                                                   \
            "add r2, r2, r10\n\t"                                                                    \
            "sub r0, r9, r1\n\t"                                                                     \
            "lsrs r0, r0, #3\n\t"                                                                    \
            "bcc 2f\n\t"                                                                             \
            "ldr r9, [r1], #4\n\t"                                                                   \
            "ldr r11, [r2], #4\n\t"                                                                  \
            "ldr r9, [r9, r3]\n\t" PRODUCTS("r9", "r11")                                             \
            "2:\n\t"                                                                                 \
            "beq 5f\n\t"                                                                             \
            "tst r0, #1\n\t"                                                                         \
            "bne 4f\n"                                                                               \
            "3:\n\t" TWO                                                                             \
            "4:\n\t" TWO                                                                             \
            "ldr r0, [sp, #4]\n\t"                                                                   \
            "ldr r0, [r0, #12]\n\t"                                                                  \
            "cmp r1, r0\n\t"                                                                         \
            "bne 3b\n"                                                                               \
            "5:\n\t"                                                                                 \
            "ldr r0, [sp, #4]\n\t"                                                                   \
            "ldr r1, [r0, #20]\n\t"                                                                  \
            "ldr lr, [r0, #32]\n\t"                                                                  \
            "add r2, r2, r1\n\t" SCALED                                                              \
            "ldr r0, [sp, #4]\n\t"                                                                   \
            "str r1, [sp]\n\t"                                                                       \
            "ldr r0, [r0, #24]\n\t"                                                                  \
            "add r3, r3, #4\n\t"                                                                     \
            "cmp r3, r0\n\t"                                                                         \
            "bne 1b\n\t"                                                                             \
            "mov r0, r2\n\t"                                                                         \
            "add sp, sp, #8\n\t"                                                                     \
            "pop {r4-r11, pc}")

LT_SHARED NAKED const int32_t *lt_columns_tap(const lt_columns_taps *of UNUSED)
{
    TAP(TAPS_SCALED);
}

LT_SHARED NAKED const int32_t *lt_columns_tap_any(const lt_columns_taps *of UNUSED)
{
    TAP(TAPS_ANY);
}

#endif
