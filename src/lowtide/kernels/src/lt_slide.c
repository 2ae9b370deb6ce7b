/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slide.c: see lt_slide.h. */
#include "lt_slide.h"

#include "lt_copy.h"

#ifdef __thumb2__

/* Move so many turns of eight words, each read before it is written; return the end of what was read. */
static const uint8_t *move_down(uint8_t *to, const uint8_t *from, uint32_t turns)
{
    __asm__ volatile("1:\n\t"
                     "ldmia %[from]!, {r4-r6, r8-r12}\n\t"
                     "subs %[turns], %[turns], #1\n\t"
                     "stmia %[to]!, {r4-r6, r8-r12}\n\t"
                     "bne 1b"
                     : [from] "+r"(from), [to] "+r"(to), [turns] "+r"(turns)
                     :
                     : "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
    return from;
}

#endif

LT_SHARED void lt_slide_buffer(const void *params, const lt_step *step)
{
    const lt_slide *p = params;
    const uint8_t *from = step->in[0];
    uint8_t *to = step->out[0];
    uint32_t left = p->bytes;
#ifdef __thumb2__
    if ((left >= 32) && ((((uintptr_t)to | (uintptr_t)from) & 3) == 0)) {
        const uint8_t *end = move_down(to, from, left / 32);
        to += end - from;
        from = end;
        left %= 32;
    }
#endif
    lt_copy_down(to, from, (int32_t)left);
}
