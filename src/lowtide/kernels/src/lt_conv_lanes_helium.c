/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_lanes_helium.c: see lt_conv_lanes.h. For cores with Arm's Helium.
 *
 * In assembly, since VMLADAVA adds up in even registers only, so sums are there, and all others hold where weights
 * and rows are; lt_conv_lanes.c says the same in C.
 */
#include "lt_conv_lanes.h"

#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

/* r0, r2, r4, r6 sums, r1, r5, r7, r3 weights, r9 a row, r8 rows, r10 how many are left, r11 offset, r12 n, lr
 * products left. On the stack: from a row's last weights that are read to the next row's, and line. */
LT_SHARED __attribute__((naked)) void lt_lanes_add(lt_lanes *of __attribute__((unused)))
{
    __asm__("push {r0, r4-r11, lr}\n\t"
            "add lr, r0, #36\n\t"
            "ldm r0, {r1, r3, r5, r7, r8, r9, r10, r11, r12}\n\t"
            "add r2, r12, #7\n\t"
            "bic r2, r2, #7\n\t"
            "sub r2, r9, r2\n\t"
            "add r5, r5, r1\n\t"
            "add r7, r7, r1\n\t"
            "add r3, r3, r1\n\t"
            "push {r2, r9}\n\t"
            "ldm lr, {r0, r2, r4, r6}\n"
            "1:\n\t"
            "ldr r9, [r8], #4\n\t"
            "cmp r9, #0\n\t"
            "beq 5f\n\t"
            "add r9, r9, r11\n\t"
            "wlstp.16 lr, r12, 3f\n"
            "2:\n\t"
            "vldrh.u16 q0, [r9], #16\n\t"
            "vldrb.s16 q1, [r1], #8\n\t"
            "vldrb.s16 q2, [r5], #8\n\t"
            "vmladava.s16 r0, q0, q1\n\t"
            "vldrb.s16 q1, [r7], #8\n\t"
            "vmladava.s16 r2, q0, q2\n\t"
            "vldrb.s16 q2, [r3], #8\n\t"
            "vmladava.s16 r4, q0, q1\n\t"
            "vmladava.s16 r6, q0, q2\n\t"
            "letp lr, 2b\n"
            "3:\n\t"
            "ldr r9, [sp]\n"
            "4:\n\t"
            "add r1, r1, r9\n\t"
            "add r5, r5, r9\n\t"
            "add r7, r7, r9\n\t"
            "add r3, r3, r9\n\t"
            "subs r10, r10, #1\n\t"
            "bne 1b\n\t"
            "add sp, sp, #8\n\t"
            "pop {r1}\n\t"
            "add r1, r1, #36\n\t"
            "stm r1, {r0, r2, r4, r6}\n\t"
            "pop {r4-r11, pc}\n"
            "5:\n\t"
            "ldr r9, [sp, #4]\n\t"
            "b 4b");
}

LT_SHARED void lt_lanes_put(const lt_conv_lanes_s16 *p, const int32_t *sums, int32_t c, int16_t *out)
{
    int32x4_t sum = vrmulhq_s32(vshlq_r_s32(vldrwq_s32(sums), p->left), vldrwq_s32(p->factor + c));
    sum = vmaxq_s32(vaddq_n_s32(sum, p->output_zero), vdupq_n_s32(p->low));
    vstrhq_p_s32(out + c, vminq_s32(sum, vdupq_n_s32(p->high)), vctp32q((uint32_t)(p->out_c - c)));
}

#endif
