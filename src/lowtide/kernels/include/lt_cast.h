/* lt_cast.h: CAST between plain types.
 *
 * Source: tensorflow/lite/micro/kernels/cast.cc. Integers that do not fit wrap; floats are cut off
 * towards zero, and those that no int32 holds, which the reference does not define, give INT32_MIN. From
 * float to uint8 LiteRT saturates.
 */
#ifndef LT_CAST_H
#define LT_CAST_H

#include "lowtide.h"

/* Types; booleans are bytes 0 and 1. */
#define LT_CAST_S8 0
#define LT_CAST_U8 1
#define LT_CAST_S16 2
#define LT_CAST_S32 3
#define LT_CAST_U32 4
#define LT_CAST_S64 5
#define LT_CAST_F32 6
#define LT_CAST_BOOL 7

/* step->in[0], step->out[0]: rows of `count` elements that do not overlap. No scratch. */
typedef struct {
    uint32_t count;
    uint8_t from, to;
} lt_cast;

void lt_cast_row(const void *params, const lt_step *step);

#endif
