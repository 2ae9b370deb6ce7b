/* SPDX-License-Identifier: Apache-2.0 */
/* lt_cast.c: see lt_cast.h. */
#include "lt_cast.h"

static int64_t whole(const void *row, uint32_t i, uint8_t type)
{
    switch (type) {
    case LT_CAST_S8:
        return ((const int8_t *)row)[i];
    case LT_CAST_S16:
        return ((const int16_t *)row)[i];
    case LT_CAST_S32:
        return ((const int32_t *)row)[i];
    case LT_CAST_U32:
        return ((const uint32_t *)row)[i];
    case LT_CAST_S64:
        return ((const int64_t *)row)[i];
    case LT_CAST_F32: {
        float x = ((const float *)row)[i];
        return ((x >= -2147483648.0f) && (x < 2147483648.0f)) ? (int32_t)x : INT32_MIN;
    }
    default:
        return ((const uint8_t *)row)[i];
    }
}

static void put(void *row, uint32_t i, int64_t x, uint8_t type)
{
    switch (type) {
    case LT_CAST_S16:
        ((uint16_t *)row)[i] = (uint16_t)(uint64_t)x;
        break;
    case LT_CAST_S32:
    case LT_CAST_U32:
        ((uint32_t *)row)[i] = (uint32_t)(uint64_t)x;
        break;
    case LT_CAST_S64:
        ((int64_t *)row)[i] = x;
        break;
    case LT_CAST_F32:
        ((float *)row)[i] = (float)x;
        break;
    case LT_CAST_BOOL:
        ((uint8_t *)row)[i] = x != 0;
        break;
    default:
        ((uint8_t *)row)[i] = (uint8_t)(uint64_t)x;
        break;
    }
}

LT_SHARED void lt_cast_row(const void *params, const lt_step *step)
{
    const lt_cast *p = params;
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t x = whole(step->in[0], i, p->from);
        if ((p->from == LT_CAST_F32) && (p->to == LT_CAST_U8)) {
            x = (x < 0) ? 0 : (x > UINT8_MAX) ? UINT8_MAX : x;
        }
        put(step->out[0], i, x, p->to);
    }
}
