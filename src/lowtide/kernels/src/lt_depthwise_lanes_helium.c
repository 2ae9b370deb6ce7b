/* lt_depthwise_lanes_helium.c: see lt_depthwise_lanes.h. For cores with Arm's Helium.
 *
 * 3 x 3 in assembly, since a compiler keeps neither weights nor pointers in registers;
 * lt_depthwise_lanes.c says the same in C.
 */
#include "lt_depthwise_lanes.h"

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* In both: r1 record, r2 pitch, r3 where the next column is, r4 to r6 rows, r7 output, r8 zero, r9
 * groups left, r10 the second pixel's output, r11 pitch - 4, r12 high; q0 and q1 sums of the pixels, q2
 * to q4 weights of a row, q5 a column, q6 products, q7 low. `offsets` in an lt_taps are in bytes. */
#define BEGIN                                                                                        \
    "push {r4-r11, lr}\n\t"                                                                          \
    "vpush {d8-d15}\n\t"                                                                             \
    "ldm r0!, {r4, r5, r6}\n\t"                                                                      \
    "add r0, r0, #16\n\t"                                                                            \
    "ldm r0!, {r1, r7}\n\t"                                                                          \
    "ldm r0, {r2, r10, r11}\n\t"                                                                     \
    "mov r9, r11\n\t"                                                                                \
    "ldrd r8, r3, [r0, #12]\n\t"                                                                     \
    "ldr r12, [r0, #20]\n\t"                                                                         \
    "sub r11, r2, #4\n\t"                                                                            \
    "vdup.32 q7, r3\n"
/* Weights; then columns of a row: FIRST is that of `row`, NEXT all others but the LAST. */
#define WEIGHTS                                                                                      \
    "vldrb.s32 q2, [r1], #4\n\t"                                                                     \
    "vldrb.s32 q3, [r1], #4\n\t"                                                                     \
    "vldrb.s32 q4, [r1], #4\n\t"
#define FIRST(row)                                                                                   \
    "vldrb.s32 q5, [" row "], #4\n\t"                                                                \
    "add r3, " row ", r11\n\t"
#define NEXT                                                                                         \
    "vldrb.s32 q5, [r3]\n\t"                                                                         \
    "add r3, r3, r2\n\t"
#define LAST "vldrb.s32 q5, [r3]\n\t"
#define ADD(sum, weights)                                                                            \
    "vmul.i32 q6, q5, " weights "\n\t"                                                               \
    "vadd.i32 " sum ", " sum ", q6\n\t"
#define SET(sum, weights) "vmul.i32 " sum ", q5, " weights "\n\t"
/* A row of two windows, one column or two apart; what is done with the first weights is START. */
#define ROW_1(row, START)                                                                            \
    WEIGHTS FIRST(row) START("q0", "q2") NEXT ADD("q0", "q3") START("q1", "q2")                      \
        NEXT ADD("q0", "q4") ADD("q1", "q3") LAST ADD("q1", "q4")
#define ROW_2(row, START)                                                                            \
    WEIGHTS FIRST(row) START("q0", "q2") NEXT ADD("q0", "q3") NEXT ADD("q0", "q4") START("q1", "q2") \
        NEXT ADD("q1", "q3") LAST ADD("q1", "q4")
/* As in lt_conv_lanes_helium.c. q2 biases, then multipliers, q3 shifts, q4 high. */
#define SCALE(sum)                                                                                   \
    "vshr.s32 q5, " sum ", #31\n\t"                                                                  \
    "vadd.i32 " sum ", " sum ", q5\n\t"                                                              \
    "vrshl.s32 " sum ", " sum ", q3\n\t"                                                             \
    "vadd.i32 " sum ", " sum ", r8\n\t"                                                              \
    "vmax.s32 " sum ", " sum ", q7\n\t"                                                              \
    "vmin.s32 " sum ", " sum ", q4\n\t"
#define END                                                                                          \
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
    "vstrb.32 q0, [r7], #4\n\t"                                                                      \
    "subs r9, r9, #1\n\t"                                                                            \
    "bne 1b\n\t"                                                                                     \
    "vpop {d8-d15}\n\t"                                                                              \
    "pop {r4-r11, pc}"

NAKED void lt_taps_3_1(const lt_taps *of UNUSED)
{
    __asm__(BEGIN "1:\n\t" ROW_1("r4", SET) ROW_1("r5", ADD) ROW_1("r6", ADD) END);
}

NAKED void lt_taps_3_2(const lt_taps *of UNUSED)
{
    __asm__(BEGIN "1:\n\t" ROW_2("r4", SET) ROW_2("r5", ADD) ROW_2("r6", ADD) END);
}

static inline int32x4_t scaled(int32x4_t sum, const int32_t *scale, const lt_taps *of)
{
    sum = vqrdmulhq_s32(vaddq_s32(sum, vldrwq_s32(scale)), vldrwq_s32(scale + 4));
    sum = vrshlq_s32(vaddq_s32(sum, vshrq_n_s32(sum, 31)), vldrwq_s32(scale + 8));
    sum = vmaxq_s32(vaddq_n_s32(sum, of->zero), vdupq_n_s32(of->low));
    return vminq_s32(sum, vdupq_n_s32(of->high));
}

void lt_taps_any(const lt_taps *of)
{
    const int8_t *w = (const int8_t *)of->records;
    int32_t pitch = of->pitch, next = of->stride * pitch;
    for (int32_t c = 0; c < 4 * of->groups; c += 4) {
        int32x4_t sum0 = vdupq_n_s32(0), sum1 = sum0;
        for (int32_t ky = 0; ky < of->kernel_h; ky++) {
            const int8_t *x = of->rows[ky] + c;
            for (int32_t kx = of->kernel_w; kx > 0; kx--, x += pitch, w += 4) {
                int32x4_t weights = vldrbq_s32(w);
                sum0 = vaddq_s32(sum0, vmulq_s32(vldrbq_s32(x), weights));
                sum1 = vaddq_s32(sum1, vmulq_s32(vldrbq_s32(x + next), weights));
            }
        }
        vstrbq_s32(of->out + of->other + c, scaled(sum1, (const int32_t *)(const void *)w, of));
        vstrbq_s32(of->out + c, scaled(sum0, (const int32_t *)(const void *)w, of));
        w += 48;
    }
}

void lt_taps_copy(int8_t *to, const int8_t *from, int32_t n)
{
    for (; n > 0; n -= 16, to += 16, from += 16) {
        mve_pred16_t some = vctp8q((uint32_t)n);
        vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
    }
}

void lt_taps_fill(int8_t *to, int32_t value, int32_t n)
{
    for (; n > 0; n -= 16, to += 16) {
        vstrbq_p_s8(to, vdupq_n_s8((int8_t)value), vctp8q((uint32_t)n));
    }
}

#endif
