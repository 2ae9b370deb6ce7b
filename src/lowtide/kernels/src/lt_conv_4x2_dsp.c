/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_4x2_dsp.c: see lt_conv_4x2.h. For cores with Arm's DSP extension.
 *
 * Whole functions in assembly, since a compiler would have to find registers for all of it at once;
 * lt_conv_4x2.c says the same in C. Loops over products begin in the middle of their first turn where
 * the number of products is not that of whole turns: what the turn has is of equal size.
 */
#include "lt_conv_4x2.h"

#include "lt_fixed.h"

#ifdef LT_DSP

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* r0 to, r1 and r2 pixels, r3 words left; r4 to r7 halves. An odd word comes first. */
#define UNPACK                                                                                       \
    "ldr r6, [r1], #4\n\t"                                                                           \
    "ldr r7, [r2], #4\n\t"                                                                           \
    "sxtb16 r4, r6\n\t"                                                                              \
    "sxtb16 r5, r7\n\t"                                                                              \
    "sxtb16 r6, r6, ror #8\n\t"                                                                      \
    "sxtb16 r7, r7, ror #8\n\t"                                                                      \
    "stmia r0!, {r4-r7}\n\t"
LT_SHARED NAKED void lt_4x2_unpack(int32_t *to UNUSED, const int8_t *pixel0 UNUSED,
                           const int8_t *pixel1 UNUSED, int32_t words UNUSED)
{
    __asm__("push {r4-r7}\n\t"
            "lsrs r3, r3, #1\n\t"
            "bcc 1f\n\t" UNPACK "1:\n\t"
            "cbz r3, 3f\n"
            "2:\n\t" UNPACK UNPACK "subs r3, r3, #1\n\t"
            "bne 2b\n"
            "3:\n\t"
            "pop {r4-r7}\n\t"
            "bx lr");
}

/* The same; r12 sign bits. */
#define UNPACK_FLIPPED                                                                               \
    "ldr r6, [r1], #4\n\t"                                                                           \
    "ldr r7, [r2], #4\n\t"                                                                           \
    "eor r6, r6, r12\n\t"                                                                            \
    "eor r7, r7, r12\n\t"                                                                            \
    "sxtb16 r4, r6\n\t"                                                                              \
    "sxtb16 r5, r7\n\t"                                                                              \
    "sxtb16 r6, r6, ror #8\n\t"                                                                      \
    "sxtb16 r7, r7, ror #8\n\t"                                                                      \
    "stmia r0!, {r4-r7}\n\t"
LT_SHARED NAKED void lt_4x2_unpack_flipped(int32_t *to UNUSED, const int8_t *pixel0 UNUSED,
                                             const int8_t *pixel1 UNUSED, int32_t words UNUSED)
{
    __asm__("push {r4-r7}\n\t"
            "mov r12, #0x80808080\n"
            "1:\n\t" UNPACK_FLIPPED
            "subs r3, r3, #1\n\t"
            "bne 1b\n\t"
            "pop {r4-r7}\n\t"
            "bx lr");
}

/* Of three pixels: r0 to, r1 pixel, r2 pitch, r3 words left, r12 where the third pixel is. */
LT_SHARED NAKED void lt_4x2_unpack_three(int32_t *to UNUSED, const int8_t *pixel UNUSED,
                                         int32_t pitch UNUSED, int32_t words UNUSED)
{
    __asm__("push {r4-r9}\n\t"
            "lsl r12, r2, #1\n"
            "1:\n\t"
            "ldr r8, [r1, r2]\n\t"
            "ldr r9, [r1, r12]\n\t"
            "ldr r7, [r1], #4\n\t"
            "sxtb16 r5, r8\n\t"
            "sxtb16 r6, r9\n\t"
            "sxtb16 r4, r7\n\t"
            "sxtb16 r7, r7, ror #8\n\t"
            "sxtb16 r8, r8, ror #8\n\t"
            "sxtb16 r9, r9, ror #8\n\t"
            "stmia r0!, {r4-r9}\n\t"
            "subs r3, r3, #1\n\t"
            "bne 1b\n\t"
            "pop {r4-r9}\n\t"
            "bx lr");
}

/* Sums of two pixels: of c0 low r2, r3; of c2 low r4, r5; of c0 and c1 raw r6, r7; of c2 and c3 raw r8,
 * r9. r0 weights, r1 halves; r10, r11 weights of the pairs; r12, lr halves of the pixels. */
#define HALVES_2                                                                                     \
    "ldm r0!, {r10, r11}\n\t"                                                                        \
    "ldm r1!, {r12, lr}\n\t"                                                                         \
    "smlad r6, r10, r12, r6\n\t"                                                                     \
    "smlad r7, r10, lr, r7\n\t"                                                                      \
    "sxtb16 r10, r10\n\t"                                                                            \
    "smlad r8, r11, r12, r8\n\t"                                                                     \
    "smlad r9, r11, lr, r9\n\t"                                                                      \
    "sxtb16 r11, r11\n\t"                                                                            \
    "smlad r2, r10, r12, r2\n\t"                                                                     \
    "smlad r3, r10, lr, r3\n\t"                                                                      \
    "smlad r4, r11, r12, r4\n\t"                                                                     \
    "smlad r5, r11, lr, r5\n\t"
#define QUAD_2 HALVES_2 HALVES_2 /* 96 bytes */
/* Scale twice a channel's sum, as lt_narrow_s8: r10 multiplier, r11 centre, r12 shift. What a low sum is
 * times 1, a raw one less the low one is times 256. */
#define SCALED(sum)                                                                                  \
    "add lr, r11, " sum ", asr #31\n\t"                                                              \
    "smmlar lr, " sum ", r10, lr\n\t"                                                                \
    "asr lr, lr, r12\n\t"                                                                            \
    "ssat lr, #8, lr, asr #1\n\t"
#define LOW(sum) "lsl " sum ", " sum ", #1\n\t" SCALED(sum)
#define HIGH(sum) "asr " sum ", " sum ", #7\n\t" SCALED(sum)
#define NEXT_SCALE                                                                                   \
    "ldm r0!, {r10, r12}\n\t"                                                                        \
    "asr r11, r12, #8\n\t"
/* Of two pixels: r1 where the first one's next channel goes, r2 how far the second is from there. */
#define PUT_0 "strb lr, [r1], #1\n\t"
#define PUT_1 "strb lr, [r1, r2]\n\t"

/* From sums to results; r0 scales. */
#define PUT_2                                                                                        \
    "ldr r1, [sp, #12]\n\t" NEXT_SCALE LOW("r2") PUT_0                                               \
    "ldr r2, [sp, #16]\n\t" LOW("r3") PUT_1 NEXT_SCALE HIGH("r6") PUT_0 HIGH("r7") PUT_1             \
    NEXT_SCALE LOW("r4") PUT_0 LOW("r5") PUT_1 NEXT_SCALE HIGH("r8") PUT_0 HIGH("r9") PUT_1
/* The same of any factors, as lt_broad: r1 multiplier, r10 shifts, r11 centre, r12 -1 if results are rounded
 * twice, else 0. */
#define NEXT_ANY "ldm r0!, {r1, r10, r11, r12}\n\t"
#define SCALED_ANY(sum)                                                                              \
    "and lr, r12, " sum ", asr #31\n\t"                                                              \
    "add lr, lr, r11\n\t"                                                                            \
    "smmlar " sum ", " sum ", r1, lr\n\t"                                                            \
    "asr " sum ", " sum ", r10\n\t"                                                                  \
    "ssat " sum ", #8, " sum "\n\t"
#define TWO_ANY(one, other, shift)                                                                   \
    NEXT_ANY shift " " one ", " one ", r10\n\t" shift " " other ", " other ", r10\n\t"               \
    "lsr r10, r10, #8\n\t" SCALED_ANY(one) SCALED_ANY(other)
#define PUT_2_ANY                                                                                    \
    TWO_ANY("r2", "r3", "lsl") TWO_ANY("r6", "r7", "asr")                                            \
    TWO_ANY("r4", "r5", "lsl") TWO_ANY("r8", "r9", "asr")                                            \
    "ldrd r1, r10, [sp, #12]\n\t"                                                                    \
    "strb r2, [r1], #1\n\t"                                                                          \
    "strb r3, [r1, r10]\n\t"                                                                         \
    "strb r6, [r1], #1\n\t"                                                                          \
    "strb r7, [r1, r10]\n\t"                                                                         \
    "strb r4, [r1], #1\n\t"                                                                          \
    "strb r5, [r1, r10]\n\t"                                                                         \
    "strb r8, [r1], #1\n\t"                                                                          \
    "strb r9, [r1, r10]\n\t"

/* On the stack: 0 of, 4 x, 8 its end, 12 out, 16 out_c - 1, 20 where the first turn begins, 24 the end of
 * out. */
#define TWO(PUT)                                                                                     \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "ldm r0, {r7-r12}\n\t"                                                                   \
            "rsb r1, r9, #0\n\t"                                                                     \
            "and r1, r1, #3\n\t"                                                                     \
            "mov r2, #96\n\t"                                                                        \
            "adr r3, 2f\n\t"                                                                         \
            "mla r5, r1, r2, r3\n\t"                                                                 \
            "orr r5, r5, #1\n\t"                                                                     \
            "mov r1, r8\n\t"                                                                         \
            "add r2, r8, r9, lsl #4\n\t"                                                             \
            "mov r3, r10\n\t"                                                                        \
            "sub r4, r11, #1\n\t"                                                                    \
            "add r6, r10, r12, lsl #2\n\t"                                                           \
            "push {r0-r6}\n\t"                                                                       \
            "mov r0, r7\n"                                                                           \
            "1:\n\t"                                                                                 \
            "ldm r0!, {r2, r4, r6, r8}\n\t"                                                          \
            "ldr r1, [sp, #4]\n\t"                                                                   \
            "mov r3, r2\n\t"                                                                         \
            "mov r5, r4\n\t"                                                                         \
            "mov r7, r6\n\t"                                                                         \
            "mov r9, r8\n\t"                                                                         \
            "ldr pc, [sp, #20]\n\t"                                                                  \
            ".balign 4\n"                                                                            \
            "2:\n\t" QUAD_2 QUAD_2 QUAD_2 QUAD_2                                                     \
            "ldr r10, [sp, #8]\n\t"                                                                  \
            "cmp r1, r10\n\t"                                                                        \
            "bne 2b\n\t"                                                                             \
            "sub r6, r6, r2\n\t"                                                                     \
            "sub r7, r7, r3\n\t"                                                                     \
            "sub r8, r8, r4\n\t"                                                                     \
            "sub r9, r9, r5\n\t" PUT                                                                 \
            "ldr r3, [sp, #24]\n\t"                                                                  \
            "str r1, [sp, #12]\n\t"                                                                  \
            "cmp r1, r3\n\t"                                                                         \
            "bne 1b\n\t"                                                                             \
            "ldr r1, [sp]\n\t"                                                                       \
            "str r0, [r1]\n\t"                                                                       \
            "add sp, sp, #28\n\t"                                                                    \
            "pop {r4-r11, pc}")

LT_SHARED NAKED void lt_4x2_two(lt_4x2 *of UNUSED)
{
    TWO(PUT_2);
}

LT_SHARED NAKED void lt_4x2_two_any(lt_4x2 *of UNUSED)
{
    TWO(PUT_2_ANY);
}

/* Sums of one pixel: of c0 low r2; of c2 low r3; of c0 and c1 raw r4; of c2 and c3 raw r5. r0 weights,
 * r1 what is multiplied, lr its end; r6, r7 halves of four products; r8 to r11 weights. */
#define SUMS_1                                                                                       \
    "smlad r4, r8, r6, r4\n\t"                                                                       \
    "smlad r5, r9, r6, r5\n\t"                                                                       \
    "sxtb16 r8, r8\n\t"                                                                              \
    "sxtb16 r9, r9\n\t"                                                                              \
    "smlad r2, r8, r6, r2\n\t"                                                                       \
    "smlad r3, r9, r6, r3\n\t"                                                                       \
    "smlad r4, r10, r7, r4\n\t"                                                                      \
    "smlad r5, r11, r7, r5\n\t"                                                                      \
    "sxtb16 r10, r10\n\t"                                                                            \
    "sxtb16 r11, r11\n\t"                                                                            \
    "smlad r2, r10, r7, r2\n\t"                                                                      \
    "smlad r3, r11, r7, r3\n\t"
#define QUAD_1 /* 56 bytes */                                                                        \
    "ldrd r6, r7, [r1], #8\n\t"                                                                      \
    "ldm r0!, {r8-r11}\n\t" SUMS_1
#define QUAD_1_PACKED /* 64 bytes */                                                                 \
    "ldr r7, [r1], #4\n\t"                                                                           \
    "ldm r0!, {r8-r11}\n\t"                                                                          \
    "sxtb16 r6, r7\n\t"                                                                              \
    "sxtb16 r7, r7, ror #8\n\t" SUMS_1

#define PUT_1_ALL                                                                                    \
    "ldr r1, [sp, #12]\n\t" NEXT_SCALE LOW("r2") PUT_0 NEXT_SCALE HIGH("r4") PUT_0 NEXT_SCALE        \
    LOW("r3") PUT_0 NEXT_SCALE HIGH("r5") PUT_0
#define ONE_ANY(sum, shift)                                                                          \
    NEXT_ANY shift " " sum ", " sum ", r10\n\t"                                                      \
    "lsr r10, r10, #8\n\t" SCALED_ANY(sum)
#define PUT_1_ANY                                                                                    \
    ONE_ANY("r2", "lsl") ONE_ANY("r4", "asr") ONE_ANY("r3", "lsl") ONE_ANY("r5", "asr")              \
    "ldr r1, [sp, #12]\n\t"                                                                          \
    "strb r2, [r1], #1\n\t"                                                                          \
    "strb r4, [r1], #1\n\t"                                                                          \
    "strb r3, [r1], #1\n\t"                                                                          \
    "strb r5, [r1], #1\n\t"

/* On the stack: 0 of, 4 x, 8 its end, 12 out, 16 where the first turn begins, 20 the end of out. */
#define ONE(QUAD, size, shift, PUT)                                                                  \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "ldm r0, {r6-r11}\n\t"                                                                   \
            "rsb r1, r8, #0\n\t"                                                                     \
            "and r1, r1, #3\n\t"                                                                     \
            "mov r2, #" size "\n\t"                                                                  \
            "adr r3, 2f\n\t"                                                                         \
            "mla r4, r1, r2, r3\n\t"                                                                 \
            "orr r4, r4, #1\n\t"                                                                     \
            "mov r1, r7\n\t"                                                                         \
            "add r2, r7, r8, lsl #" shift "\n\t"                                                     \
            "mov r3, r9\n\t"                                                                         \
            "add r5, r9, r11, lsl #2\n\t"                                                            \
            "push {r0-r5}\n\t"                                                                       \
            "mov r0, r6\n"                                                                           \
            "1:\n\t"                                                                                 \
            "ldm r0!, {r2-r5}\n\t"                                                                   \
            "ldrd r1, lr, [sp, #4]\n\t"                                                              \
            "ldr pc, [sp, #16]\n\t"                                                                  \
            ".balign 4\n"                                                                            \
            "2:\n\t" QUAD QUAD QUAD QUAD                                                             \
            "cmp r1, lr\n\t"                                                                         \
            "bne 2b\n\t"                                                                             \
            "ldr r6, [sp, #20]\n\t"                                                                  \
            "sub r4, r4, r2\n\t"                                                                     \
            "sub r5, r5, r3\n\t" PUT                                                                 \
            "str r1, [sp, #12]\n\t"                                                                  \
            "cmp r1, r6\n\t"                                                                         \
            "bne 1b\n\t"                                                                             \
            "ldr r1, [sp]\n\t"                                                                       \
            "str r0, [r1]\n\t"                                                                       \
            "add sp, sp, #24\n\t"                                                                    \
            "pop {r4-r11, pc}")

LT_SHARED NAKED void lt_4x2_one(lt_4x2 *of UNUSED)
{
    ONE(QUAD_1, "56", "3", PUT_1_ALL);
}

LT_SHARED NAKED void lt_4x2_one_packed(lt_4x2 *of UNUSED)
{
    ONE(QUAD_1_PACKED, "64", "2", PUT_1_ALL);
}

LT_SHARED NAKED void lt_4x2_one_any(lt_4x2 *of UNUSED)
{
    ONE(QUAD_1_PACKED, "64", "2", PUT_1_ANY);
}

/* A pair of channels of three pixels: low r2, r3, r4, raw r5, r6, r7; r0 weights, r1 halves, lr their end,
 * r8 weights, r9, r10, r11 halves of the pixels, r12 the record; of the second pair all is four bytes on. */
#define HALVES_3                                                                                     \
    "ldr r8, [r0], #8\n\t"                                                                           \
    "ldm r1!, {r9, r10, r11}\n\t"                                                                    \
    "smlad r5, r8, r9, r5\n\t"                                                                       \
    "smlad r6, r8, r10, r6\n\t"                                                                      \
    "smlad r7, r8, r11, r7\n\t"                                                                      \
    "sxtb16 r8, r8\n\t"                                                                              \
    "smlad r2, r8, r9, r2\n\t"                                                                       \
    "smlad r3, r8, r10, r3\n\t"                                                                      \
    "smlad r4, r8, r11, r4\n\t"
#define QUAD_3 HALVES_3 HALVES_3 /* 72 bytes */
/* r8 multiplier, r9 centre, r10 shift; r1 where the first pixel's result goes, lr how far the next one's. */
#define NEXT_3                                                                                       \
    "ldm r0!, {r8, r10}\n\t"                                                                         \
    "asr r9, r10, #8\n\t"
#define LOW_3(sum, put) "lsl " sum ", " sum ", #1\n\t" SCALED_3(sum, put)
#define HIGH_3(sum, put) "asr " sum ", " sum ", #7\n\t" SCALED_3(sum, put)
#define SCALED_3(sum, put)                                                                           \
    "add r11, r9, " sum ", asr #31\n\t"                                                              \
    "smmlar r11, " sum ", r8, r11\n\t"                                                               \
    "asr r11, r11, r10\n\t"                                                                          \
    "ssat r11, #8, r11, asr #1\n\t"                                                                  \
    "strb r11, " put "\n\t"

/* On the stack: 0 of, 4 how far scales are behind the weights (of the first pair 0, of the second 12), 8 x,
 * 12 its end, 16 out, 20 out_c, 24 where the first turn begins, 28 the end of out. */
LT_SHARED NAKED void lt_4x2_three(lt_4x2 *of UNUSED)
{
    __asm__("push {r4-r11, lr}\n\t"
            "ldm r0, {r7-r12}\n\t"
            "rsb r1, r9, #0\n\t"
            "and r1, r1, #3\n\t"
            "mov r2, #72\n\t"
            "adr r3, 2f\n\t"
            "mla r6, r1, r2, r3\n\t"
            "orr r6, r6, #1\n\t"
            "movs r1, #0\n\t"
            "mov r2, r8\n\t"
            "add r3, r9, r9, lsl #1\n\t"
            "add r3, r8, r3, lsl #3\n\t"
            "mov r4, r10\n\t"
            "mov r5, r11\n\t"
            "mov r9, r7\n\t"
            "add r7, r10, r12, lsl #2\n\t"
            "push {r0-r7}\n\t"
            "mov r12, r9\n"
            "1:\n\t"
            "ldr r2, [r12]\n\t"
            "ldr r5, [r12, #8]\n\t"
            "add r0, r12, #16\n\t"
            "mov r3, r2\n\t"
            "mov r4, r2\n\t"
            "mov r6, r5\n\t"
            "mov r7, r5\n\t"
            "ldrd r1, lr, [sp, #8]\n\t"
            "ldr pc, [sp, #24]\n\t"
            ".balign 4\n"
            "2:\n\t" QUAD_3 QUAD_3 QUAD_3 QUAD_3
            "cmp r1, lr\n\t"
            "bne 2b\n\t"
            "ldr r8, [sp, #4]\n\t"
            "ldrd r1, lr, [sp, #16]\n\t"
            "add r0, r0, r8\n\t"
            "sub r5, r5, r2\n\t"
            "sub r6, r6, r3\n\t"
            "sub r7, r7, r4\n\t" NEXT_3 LOW_3("r3", "[r1, lr]") LOW_3("r4", "[r1, lr, lsl #1]")
            LOW_3("r2", "[r1], #1") NEXT_3 HIGH_3("r6", "[r1, lr]") HIGH_3("r7", "[r1, lr, lsl #1]")
            HIGH_3("r5", "[r1], #1")
            "ldr r8, [sp, #4]\n\t"
            "str r1, [sp, #16]\n\t"
            "eors r8, r8, #12\n\t"
            "str r8, [sp, #4]\n\t"
            "it ne\n\t"
            "addne r12, r12, #4\n\t"
            "bne 1b\n\t"
            "ldr r8, [sp, #28]\n\t"
            "mov r12, r0\n\t"
            "cmp r1, r8\n\t"
            "bne 1b\n\t"
            "ldr r0, [sp]\n\t"
            "str r12, [r0]\n\t"
            "add sp, sp, #32\n\t"
            "pop {r4-r11, pc}");
}

#endif
