/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_3x3_dsp.c: see lt_depthwise_3x3.h. For cores with Arm's DSP extension.
 *
 * Whole functions in assembly, since a compiler would have to find registers for all of it at once;
 * lt_depthwise_3x3.c says the same in C.
 */
#include "lt_depthwise_3x3.h"

#include "lt_fixed.h"

#ifdef LT_DSP

#define UNUSED __attribute__((unused))

/* The columns of four channels that are there: r0 to, r1 row 0, r2 and r3 how far rows 1 and 2 are, r11
 * pitch, r12 base, lr columns left; r4 to r9 the column's words, r10 what is left over. */
#define COLUMNS                                                                                      \
    "ldr r10, [sp]\n\t"                                                                              \
    "ldr lr, [r10, #48]\n\t"                                                                         \
    "add r10, r10, #24\n\t"                                                                          \
    "cmp lr, #0\n\t"                                                                                 \
    "beq 8f\n\t"                                                                                     \
    "ldm r10, {r0-r3, r11, r12}\n"                                                                   \
    "7:\n\t"                                                                                         \
    "ldr r10, [r1, r2]\n\t"                                                                          \
    "ldr r8, [r1, r3]\n\t"                                                                           \
    "ldr r9, [r1]\n\t"                                                                               \
    "add r1, r1, r11\n\t"                                                                            \
    "sxtab16 r5, r12, r8\n\t"           /* row 2 of channels 0 and 2 */                              \
    "sxtab16 r8, r12, r8, ror #8\n\t"   /* row 2 of channels 1 and 3 */                              \
    "sxtab16 r6, r12, r9\n\t"           /* row 0 of 0 and 2 */                                       \
    "sxtab16 r9, r12, r9, ror #8\n\t"   /* row 0 of 1 and 3 */                                       \
    "sxtab16 r7, r12, r10\n\t"          /* row 1 of 0 and 2 */                                       \
    "sxtab16 r10, r12, r10, ror #8\n\t" /* row 1 of 1 and 3 */                                       \
    "pkhbt r4, r6, r7, lsl #16\n\t"                                                                  \
    "pkhtb r6, r7, r6, asr #16\n\t"                                                                  \
    "pkhbt r7, r9, r10, lsl #16\n\t"                                                                 \
    "pkhtb r9, r10, r9, asr #16\n\t"                                                                 \
    "stm r0!, {r4-r9}\n\t"                                                                           \
    "subs lr, lr, #1\n\t"                                                                            \
    "bne 7b\n"                                                                                       \
    "8:\n\t"

/* The results of four channels, which are `apart` bytes apart, to where they go; then the next four: r1 from,
 * r2 to, r3 pitch, r4 how many. */
#define RESULTS(apart)                                                                               \
    "ldr r0, [sp]\n\t"                                                                               \
    "ldr r1, [r0]\n\t"                                                                               \
    "ldr r3, [r0, #40]\n\t"                                                                          \
    "ldrd r4, r2, [r0, #52]\n\t"                                                                     \
    "add r1, r1, #24\n\t"                                                                            \
    "lsrs r4, r4, #1\n\t"                                                                            \
    "bcc 7f\n\t"                                                                                     \
    "ldr r5, [r1], #" apart "\n\t"                                                                   \
    "str r5, [r2]\n\t"                                                                               \
    "add r2, r2, r3\n"                                                                               \
    "7:\n\t"                                                                                         \
    "cbz r4, 8f\n"                                                                                   \
    "7:\n\t"                                                                                         \
    "ldr r5, [r1], #" apart "\n\t"                                                                   \
    "ldr r6, [r1], #" apart "\n\t"                                                                   \
    "str r5, [r2]\n\t"                                                                               \
    "str r6, [r2, r3]\n\t"                                                                           \
    "add r2, r2, r3, lsl #1\n\t"                                                                     \
    "subs r4, r4, #1\n\t"                                                                            \
    "bne 7b\n"                                                                                       \
    "8:\n\t"                                                                                         \
    "ldr r1, [r0, #28]\n\t"                                                                          \
    "ldrd r2, r3, [r0, #56]\n\t"                                                                     \
    "adds r1, r1, #4\n\t"                                                                            \
    "adds r2, r2, #4\n\t"                                                                            \
    "str r1, [r0, #28]\n\t"                                                                          \
    "subs r3, r3, #1\n\t"                                                                            \
    "strd r2, r3, [r0, #56]\n\t"                                                                     \
    "bne 9b\n\t"

/* In both sums:
 * r0 the column, r1 and r2 its two words of the channel;
 * r6, r7, r8 twice the weights of rows 0 and 1 in columns 0, 1, 2; r9 those of row 2 in columns 0, 1;
 * r10 that of row 2 in column 2 as high half, the shift as low half;
 * r11 bias, r12 multiplier, lr centre; r3, r4, r5 sums under way.
 * On the stack: the piece, and behind the last column that a turn reads (of channel 0).
 *
 * SETUP: the column `from` bytes on from the first is the channel's. */
#define SETUP_NARROW(from)                                                                           \
    "ldr r0, [sp]\n\t"                                                                               \
    "ldm r0, {r1-r6}\n\t" /* columns, masks, odd, records */                                         \
    "ldm r6!, {r8-r12}\n\t"                                                                          \
    "str r6, [r0, #20]\n\t"                                                                          \
    "and r8, r8, r2\n\t"                                                                             \
    "and r9, r9, r3\n\t"                                                                             \
    "and r10, r10, r4\n\t"                                                                           \
    "lsl lr, r5, r10\n\t"                                                                            \
    "add r0, r1, #" from "\n\t"                                                                      \
    "sxtb16 r6, r8\n\t"                                                                              \
    "sxtb16 r7, r8, ror #8\n\t"                                                                      \
    "sxtb16 r8, r9\n\t"                                                                              \
    "sxtb16 r9, r9, ror #8\n\t"                                                                      \
    "sadd16 r6, r6, r6\n\t"                                                                          \
    "sadd16 r7, r7, r7\n\t"                                                                          \
    "sadd16 r8, r8, r8\n\t"                                                                          \
    "sadd16 r9, r9, r9\n\t"
/* The same of any factors: weights are doubled as often as the second byte of r10 says, the centre is in the
 * record, and on the stack, above what else is there, -1 where sums are rounded twice, else 0. */
#define SETUP_ANY(from)                                                                              \
    "ldr r0, [sp]\n\t"                                                                               \
    "ldm r0, {r1-r4}\n\t" /* columns, masks */                                                       \
    "ldr r6, [r0, #20]\n\t" /* records */                                                            \
    "ldm r6!, {r5, r8-r12, lr}\n\t"                                                                  \
    "str r5, [sp, #12]\n\t"                                                                          \
    "str r6, [r0, #20]\n\t"                                                                          \
    "and r8, r8, r2\n\t"                                                                             \
    "and r9, r9, r3\n\t"                                                                             \
    "and r10, r10, r4\n\t"                                                                           \
    "add r0, r1, #" from "\n\t"                                                                      \
    "ubfx r1, r10, #8, #8\n\t"                                                                       \
    "sxtb16 r6, r8\n\t"                                                                              \
    "sxtb16 r7, r8, ror #8\n\t"                                                                      \
    "sxtb16 r8, r9\n\t"                                                                              \
    "sxtb16 r9, r9, ror #8\n"                                                                        \
    "6:\n\t"                                                                                         \
    "sadd16 r6, r6, r6\n\t"                                                                          \
    "sadd16 r7, r7, r7\n\t"                                                                          \
    "sadd16 r8, r8, r8\n\t"                                                                          \
    "sadd16 r9, r9, r9\n\t"                                                                          \
    "subs r1, r1, #1\n\t"                                                                            \
    "bne 6b\n\t"
#define LOAD "ldrd r1, r2, [r0], #24\n\t"
/* sum = bias + column 0; sum += column 1; sum += column 2. `p` has rows 0 and 1; row 2 is the half h
 * of `q`. */
#define BEGIN(sum, p, q, h)                                                                          \
    "smlad " sum ", " p ", r6, r11\n\t"                                                              \
    "smla" h "b " sum ", " q ", r9, " sum "\n\t"
#define GO_ON(sum, p, q, h)                                                                          \
    "smlad " sum ", " p ", r7, " sum "\n\t"                                                          \
    "smla" h "t " sum ", " q ", r9, " sum "\n\t"
#define END(sum, p, q, h)                                                                            \
    "smlad " sum ", " p ", r8, " sum "\n\t"                                                          \
    "smla" h "t " sum ", " q ", r10, " sum "\n\t"
/* Scale a sum, as lt_narrow_s8, and put it `at` bytes from the next column. */
#define STORE_NARROW(sum, at)                                                                        \
    "add r1, lr, " sum ", asr #31\n\t"                                                               \
    "smmlar r1, " sum ", r12, r1\n\t"                                                                \
    "asr r1, r1, r10\n\t"                                                                            \
    "ssat r1, #8, r1, asr #1\n\t"                                                                    \
    "strb r1, [r0, #" at "]\n\t"

#define STORE_ANY(sum, at)                                                                           \
    "ldr r1, [sp, #12]\n\t"                                                                          \
    "and r1, r1, " sum ", asr #31\n\t"                                                               \
    "add r1, r1, lr\n\t"                                                                             \
    "smmlar r1, " sum ", r12, r1\n\t"                                                                \
    "asr r1, r1, r10\n\t"                                                                            \
    "ssat r1, #8, r1\n\t"                                                                            \
    "strb r1, [r0, #" at "]\n\t"

/* One column: the third of `oldest`, the second of `middle`, the first of `newest`. */
#define COLUMN_1(FACTORS, newest, middle, oldest, p, q, h, at)                                       \
    LOAD BEGIN(newest, p, q, h) GO_ON(middle, p, q, h) END(oldest, p, q, h) STORE_##FACTORS(oldest, at)
/* A channel. Three columns a turn, and the last one by itself, which begins no sums. If there are other than
 * threes before it, the first turn begins with the second or the third, and the sums are where these expect
 * them. r3 is how far from four bytes behind the jump the first turn begins. */
#define CHANNEL_1(FACTORS, from, p, q, h, at)                                                        \
    SETUP_##FACTORS(from)                                                                            \
    LOAD BEGIN("r5", p, q, h)                                                                        \
    LOAD GO_ON("r5", p, q, h) BEGIN("r4", p, q, h)                                                   \
    "ldr r3, [sp, #8]\n\t"                                                                           \
    "add pc, r3\n\t"                                                                                 \
    "b 4f\n\t"                                                                                       \
    "mov r3, r5\n\t"                                                                                 \
    "mov r5, r4\n\t"                                                                                 \
    "b 3f\n\t"                                                                                       \
    "mov r3, r4\n\t"                                                                                 \
    "mov r4, r5\n\t"                                                                                 \
    "b 2f\n"                                                                                         \
    "1:\n\t" COLUMN_1(FACTORS, "r3", "r4", "r5", p, q, h, at)                                        \
    "2:\n\t" COLUMN_1(FACTORS, "r5", "r3", "r4", p, q, h, at)                                        \
    "3:\n\t" COLUMN_1(FACTORS, "r4", "r5", "r3", p, q, h, at)                                        \
    "ldr r1, [sp, #4]\n\t"                                                                           \
    "cmp r0, r1\n\t"                                                                                 \
    "blo 1b\n"                                                                                       \
    "4:\n\t" LOAD END("r5", p, q, h) STORE_##FACTORS("r5", at)

/* `kept` are registers with what is on the stack, `size` their bytes. */
#define MAKE_1(FACTORS, kept, size)                                                                  \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "ldr r2, [r0, #52]\n\t"                                                                  \
            "ldr r1, [r0]\n\t"                                                                       \
            "movs r3, #24\n\t"                                                                       \
            "mla r1, r3, r2, r1\n\t"                                                                 \
            "adds r1, r1, #24\n\t" /* n + 1 columns */                                               \
            "sub r3, r2, #1\n\t"                                                                     \
            "clz lr, r3\n\tlsr lr, lr, #5\n\t" /* 1 if n is 1, else 0 */                             \
            "adds r2, r2, #1\n\t"                                                                    \
            "movs r3, #3\n\t"                                                                        \
            "udiv r12, r2, r3\n\t"                                                                   \
            "mls r3, r12, r3, r2\n\t"                                                                \
            "add r2, r3, r3, lsl #1\n\t"                                                             \
            "lsl r2, r2, #1\n\t" /* 6 * ((n + 1) % 3) */                                             \
            "sub r2, r2, lr, lsl #4\n\tadd r2, r2, lr, lsl #1\n\t" /* or -2 if n is 1 */             \
            "push {" kept "}\n"                                                                      \
            "9:\n\t" COLUMNS                                                                         \
            CHANNEL_1(FACTORS, "0", "r1", "r2", "b", "-48")                                          \
            CHANNEL_1(FACTORS, "4", "r2", "r1", "t", "-50")                                          \
            CHANNEL_1(FACTORS, "12", "r1", "r2", "b", "-59")                                         \
            CHANNEL_1(FACTORS, "16", "r2", "r1", "t", "-61")                                         \
            RESULTS("24")                                                                            \
            "add sp, sp, #" size "\n\t"                                                              \
            "pop {r4-r11, pc}")

LT_SHARED __attribute__((naked)) void lt_3x3_make_1(lt_3x3_piece *of UNUSED)
{
    MAKE_1(NARROW, "r0-r2", "12");
}

LT_SHARED __attribute__((naked)) void lt_3x3_any_1(lt_3x3_piece *of UNUSED)
{
    MAKE_1(ANY, "r0-r3", "16");
}

/* A channel. Two windows a turn; of an odd number the first is the second of a turn. */
#define WINDOW_2(FACTORS, next, sum, p, q, h, at)                                                    \
    LOAD GO_ON(sum, p, q, h) LOAD END(sum, p, q, h) BEGIN(next, p, q, h) STORE_##FACTORS(sum, at)
#define CHANNEL_2(FACTORS, from, p, q, h, at)                                                        \
    SETUP_##FACTORS(from)                                                                            \
    LOAD BEGIN("r3", p, q, h)                                                                        \
    "ldr r5, [sp, #4]\n\t"                                                                           \
    "ldr r4, [sp, #8]\n\t"                                                                           \
    "cbz r4, 1f\n\t"                                                                                 \
    "mov r4, r3\n\t"                                                                                 \
    "b 2f\n"                                                                                         \
    "1:\n\t" WINDOW_2(FACTORS, "r4", "r3", p, q, h, at)                                              \
    "2:\n\t" WINDOW_2(FACTORS, "r3", "r4", p, q, h, at)                                              \
    "cmp r0, r5\n\t"                                                                                 \
    "blo 1b\n\t"

#define MAKE_2(FACTORS, kept, size)                                                                  \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "ldr r1, [r0, #52]\n\t"                                                                  \
            "ldr r2, [r0]\n\t"                                                                       \
            "movs r3, #48\n\t"                                                                       \
            "mla r2, r3, r1, r2\n\t"                                                                 \
            "adds r2, r2, #24\n\t" /* 2 * n + 1 columns */                                           \
            "and r3, r1, #1\n\t"                                                                     \
            "mov r1, r2\n\t"                                                                         \
            "mov r2, r3\n\t"                                                                         \
            "push {" kept "}\n"                                                                      \
            "9:\n\t" COLUMNS                                                                         \
            CHANNEL_2(FACTORS, "0", "r1", "r2", "b", "-48")                                          \
            CHANNEL_2(FACTORS, "4", "r2", "r1", "t", "-50")                                          \
            CHANNEL_2(FACTORS, "12", "r1", "r2", "b", "-59")                                         \
            CHANNEL_2(FACTORS, "16", "r2", "r1", "t", "-61")                                         \
            RESULTS("48")                                                                            \
            "add sp, sp, #" size "\n\t"                                                              \
            "pop {r4-r11, pc}")

LT_SHARED __attribute__((naked)) void lt_3x3_make_2(lt_3x3_piece *of UNUSED)
{
    MAKE_2(NARROW, "r0-r2", "12");
}

LT_SHARED __attribute__((naked)) void lt_3x3_any_2(lt_3x3_piece *of UNUSED)
{
    MAKE_2(ANY, "r0-r3", "16");
}

#endif
