/* SPDX-License-Identifier: Apache-2.0 */
/* lt_add_narrow.c: see lt_add_narrow.h. The part that lt_add_narrow_dsp.c has in assembly is here in C, too:
 * it says what that does, and stands in for it on other cores. */
#include "lt_add_narrow.h"

#include "lt_elem.h"
#include "lt_fixed.h"

LT_SHARED void lt_add_narrow_s8_row(const void *params, const lt_step *step)
{
    const lt_add_narrow_s8 *p = params;
    int8_t *out = step->out[0];
    lt_add_narrow_sums(p, step->in[0], step->in[1], out);
    lt_clamp_row(out, out + p->count, p->low, p->high);
}

#ifndef LT_DSP

LT_SHARED void lt_add_narrow_sums(const lt_add_narrow_s8 *p, const int8_t *a, const int8_t *b, int8_t *out)
{
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t scaled = b[i] * (1 << 21) + p->b_start;
        scaled = lt_scale_down(scaled, p->b_multiplier, p->b_half, p->b_shift);
        int32_t sum = p->start + (a[i] * (1 << 20)) + (2 * scaled);
        sum = lt_narrow(sum, p->multiplier, p->centre, p->shift);
        out[i] = (int8_t)lt_clamp(sum, INT8_MIN, INT8_MAX);
    }
}

#endif
