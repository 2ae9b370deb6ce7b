/* SPDX-License-Identifier: Apache-2.0 */
/* lt_arg.c: see lt_arg.h. */
#include "lt_arg.h"

#include <stddef.h>

#include "lt_elem.h"

static int better(const lt_arg *p, int32_t x, int32_t best)
{
    return p->least ? (x < best) : (x > best);
}

static void put(const lt_arg *p, void *out, uint32_t i, int32_t place)
{
    if (p->wide != 0U) {
        ((int64_t *)out)[i] = place;
    } else {
        ((int32_t *)out)[i] = place;
    }
}

LT_INLINE void across(const lt_arg *p, const lt_step *step, lt_elem type)
{
    int32_t pitch = (int32_t)p->inner;
    for (uint32_t i = 0; i < (p->outer * p->inner); i++) {
        int32_t at = (int32_t)((i / p->inner * p->reduced * p->inner) + (i % p->inner));
        int32_t best = lt_get(step->in[0], at, type), place = 0;
        for (int32_t r = 1; r < (int32_t)p->reduced; r++) {
            int32_t x = lt_get(step->in[0], at + (r * pitch), type);
            if (better(p, x, best) != 0) {
                best = x;
                place = r;
            }
        }
        put(p, step->out[0], i, place);
    }
}

LT_INLINE void along(const lt_arg *p, const lt_step *step, lt_elem type)
{
    uint32_t count = p->outer * p->inner;
    int32_t *best = step->scratch;
    int32_t *place = best + count;
    int32_t row = (int32_t)(step->row % p->rows);
    for (uint32_t i = 0; i < count; i++) {
        int32_t x = lt_get(step->in[0], (int32_t)i, type);
        if ((row == 0) || better(p, x, best[i])) {
            best[i] = x;
            place[i] = row;
        }
    }
    if (step->out[0] == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        put(p, step->out[0], i, place[i]);
    }
}

#define LT_ARG(name, body, type)                                      \
    LT_SHARED void lt_##name(const void *params, const lt_step *step) \
    {                                                                 \
        body(params, step, type);                                     \
    }

LT_ARG(arg_s8_row, across, LT_S8)
LT_ARG(arg_u8_row, across, LT_U8)
LT_ARG(arg_s16_row, across, LT_S16)
LT_ARG(arg_s32_row, across, LT_S32)
LT_ARG(arg_s8_eat, along, LT_S8)
LT_ARG(arg_u8_eat, along, LT_U8)
LT_ARG(arg_s16_eat, along, LT_S16)
LT_ARG(arg_s32_eat, along, LT_S32)
