/* SPDX-License-Identifier: Apache-2.0 */
/* lt_cast.h: CAST between plain types.
 *
 * Source: tensorflow/lite/micro/kernels/cast.cc. Integers that do not fit wrap. Floats are truncated towards
 * zero. Floats outside the range of int32, for which the reference defines no result, give INT32_MIN. From
 * float to uint8, the result saturates, as in LiteRT.
 */
#ifndef LT_CAST_H
#define LT_CAST_H

#include "lowtide.h"

/* Types of elements. Booleans are bytes that are 0 or 1. */
#define LT_CAST_S8 0
#define LT_CAST_U8 1
#define LT_CAST_S16 2
#define LT_CAST_S32 3
#define LT_CAST_U32 4
#define LT_CAST_S64 5
#define LT_CAST_F32 6
#define LT_CAST_BOOL 7

/* step->in[0], step->out[0]: rows of `count` elements. They must not overlap. No scratch memory. */
typedef struct {
    uint32_t count;
    uint8_t from, to;
} lt_cast;

void lt_cast_row(const void *params, const lt_step *step);

#endif
