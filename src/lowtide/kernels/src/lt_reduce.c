/* SPDX-License-Identifier: Apache-2.0 */
/* lt_reduce.c: see lt_reduce.h. */
#include "lt_reduce.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#ifdef LT_HELIUM
#include <arm_mve.h>
#endif

typedef enum { SUM, MAX, MIN } kind;

static void reset(int32_t *totals, uint32_t count, int32_t start)
{
    while (count-- > 0) {
        *totals++ = start;
    }
}

LT_INLINE int32_t join(int32_t total, int32_t value, kind k)
{
    switch (k) {
    case MAX:
        return (value > total) ? value : total;
    case MIN:
        return (value < total) ? value : total;
    default: /* wraps, as the reference does */
        return (int32_t)((uint32_t)total + (uint32_t)value);
    }
}

LT_INLINE int32_t finish(const lt_reduce *p, int32_t total, lt_elem type, kind k)
{
    if (k != SUM) {
        return total;
    }
    total = lt_scale(total, p->multiplier, p->shift) + p->output_zero;
    return lt_clamp(total, lt_least(type), lt_greatest(type));
}

/* Join `count` elements of `in`, from number `from` on, to as many totals. */
LT_INLINE void join_run(int32_t *totals, const void *in, int32_t from, int32_t count, lt_elem type, kind k)
{
    int32_t i = 0;
#ifdef LT_HELIUM
    for (; (i + 4) <= count; i += 4) {
        int32x4_t total = vldrwq_s32(totals + i), value;
        if (type == LT_S8) {
            value = vldrbq_s32((const int8_t *)in + from + i);
        } else if (type == LT_U8) {
            value = vreinterpretq_s32_u32(vldrbq_u32((const uint8_t *)in + from + i));
        } else {
            value = vldrhq_s32((const int16_t *)in + from + i);
        }
        total = (k == MAX) ? vmaxq_s32(total, value)
                : (k == MIN) ? vminq_s32(total, value)
                           : vaddq_s32(total, value);
        vstrwq_s32(totals + i, total);
    }
#endif
    for (; i < count; i++) {
        totals[i] = join(totals[i], lt_get(in, from + i, type), k);
    }
}

LT_INLINE void eat(const lt_reduce *p, const lt_step *step, lt_elem type, kind k)
{
    int32_t start = (k == SUM) ? p->start : (k == MAX) ? INT32_MIN : INT32_MAX;
    uint32_t count = p->outer * p->inner;
    int32_t *totals = step->scratch;
    if (step->row == 0) {
        reset(totals, count, start);
    }
    int32_t in = 0;
    for (uint32_t o = 0; o < p->outer; o++) {
        for (uint32_t r = 0; r < p->reduced; r++) {
            join_run(totals, step->in[0], in, (int32_t)p->inner, type, k);
            in += (int32_t)p->inner;
        }
        totals += p->inner;
    }
    if (step->out[0] == NULL) {
        return;
    }
    totals = step->scratch;
    for (uint32_t i = 0; i < count; i++) {
        lt_put(step->out[0], (int32_t)i, finish(p, totals[i], type, k), type);
    }
    reset(totals, count, start);
}

#define LT_EAT(name, type, k)                                         \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                                 \
        eat(params, step, type, k);                                   \
    }

LT_EAT(sum_s8_eat, LT_S8, SUM)
LT_EAT(sum_u8_eat, LT_U8, SUM)
LT_EAT(sum_s16_eat, LT_S16, SUM)
LT_EAT(reduce_max_s8_eat, LT_S8, MAX)
LT_EAT(reduce_max_u8_eat, LT_U8, MAX)
LT_EAT(reduce_max_s16_eat, LT_S16, MAX)
LT_EAT(reduce_min_s8_eat, LT_S8, MIN)
LT_EAT(reduce_min_u8_eat, LT_U8, MIN)
LT_EAT(reduce_min_s16_eat, LT_S16, MIN)
