/* SPDX-License-Identifier: Apache-2.0 */
/* lt_sums.c: see lt_sums.h. */
#include "lt_sums.h"

#include "lt_fixed.h"

/* x in 2^-19. */
static int32_t fine(int32_t x)
{
    return (int32_t)((uint32_t)x << 19);
}

static int8_t scaled(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero)
{
    return (int8_t)lt_clamp(lt_scale(sum, multiplier, shift) + zero, INT8_MIN, INT8_MAX);
}

LT_SHARED void lt_add_n_s8_row(const void *params, const lt_step *step)
{
    const lt_add_n *p = params;
    int8_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t sum = -p->zero;
        for (uint32_t k = 0; k < p->inputs; k++) {
            sum += ((const int8_t *)step->in[k])[i] - p->zero;
        }
        out[i] = scaled(fine(sum), p->multiplier, p->shift, p->output_zero);
    }
}

LT_SHARED void lt_cumsum_s8_row(const void *params, const lt_step *step)
{
    const lt_cumsum *p = params;
    int32_t pitch = p->backwards ? -(int32_t)p->inner : (int32_t)p->inner;
    uint32_t first = p->backwards ? ((p->count - 1) * p->inner) : 0;
    for (uint32_t i = 0; i < (p->outer * p->inner); i++) {
        int32_t at = (int32_t)((i / p->inner * p->count * p->inner) + (i % p->inner) + first);
        int32_t sum = fine(-p->zero);
        for (uint32_t k = 0; k < p->count; k++, at += pitch) {
            int32_t next = lt_add(sum, fine(((const int8_t *)step->in[0])[at] - p->zero));
            sum = p->exclusive ? sum : next;
            ((int8_t *)step->out[0])[at] = scaled(sum, p->multiplier, p->shift, p->output_zero);
            sum = next;
        }
    }
}
