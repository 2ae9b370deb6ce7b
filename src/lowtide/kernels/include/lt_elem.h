/* SPDX-License-Identifier: Apache-2.0 */
/* lt_elem.h: one source for kernels of several element types.
 *
 * A kernel body is an LT_INLINE function with the element type as a parameter. Each public kernel calls it
 * with a constant type. So the compiler makes one plain loop per type, and none for types that a program
 * does not link.
 */
#ifndef LT_ELEM_H
#define LT_ELEM_H

#include <stdint.h>

#include "lt_fixed.h"

#if defined(__GNUC__)
#define LT_INLINE static inline __attribute__((always_inline))
#else
#define LT_INLINE static inline
#endif

typedef enum { LT_S8, LT_U8, LT_S16, LT_S32 } lt_elem;

/* Returns element i of a row. */
LT_INLINE int32_t lt_get(const void *row, int32_t i, lt_elem type)
{
    switch (type) {
    case LT_U8:
        return ((const uint8_t *)row)[i];
    case LT_S16:
        return ((const int16_t *)row)[i];
    case LT_S32:
        return ((const int32_t *)row)[i];
    default:
        return ((const int8_t *)row)[i];
    }
}

/* Set element i of a row to `value`, which must be in the range of the type. */
LT_INLINE void lt_put(void *row, int32_t i, int32_t value, lt_elem type)
{
    switch (type) {
    case LT_U8:
        ((uint8_t *)row)[i] = (uint8_t)value;
        break;
    case LT_S16:
        ((int16_t *)row)[i] = (int16_t)value;
        break;
    case LT_S32:
        ((int32_t *)row)[i] = value;
        break;
    default:
        ((int8_t *)row)[i] = (int8_t)value;
        break;
    }
}

/* Return the least and the greatest value of a type. */
LT_INLINE int32_t lt_least(lt_elem type)
{
    return (type == LT_S8)    ? INT8_MIN
           : (type == LT_U8)  ? 0
           : (type == LT_S16) ? INT16_MIN
                            : INT32_MIN;
}

LT_INLINE int32_t lt_greatest(lt_elem type)
{
    return (type == LT_S8)    ? INT8_MAX
           : (type == LT_U8)  ? UINT8_MAX
           : (type == LT_S16) ? INT16_MAX
                            : INT32_MAX;
}

/* Returns round(a * b / 2^32) + c, halves up, for b >= 0: one instruction if the core has SMMLAR. With a = 2
 * x the product is gemmlowp's SaturatingRoundingDoublingHighMul of x and b. */
LT_INLINE int32_t lt_high_mul_add(int32_t a, int32_t b, int32_t c)
{
#ifdef LT_DSP
    int32_t sum;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
#else
    return lt_high_word(a, b) + c;
#endif
}

/* Returns lt_scale(a / 2, b, -shift), for shift 1 to 31 and `half` 2^(shift - 1). The sum must not overflow.
 *
 * Halves are rounded away from zero because half - 1 is added to negative products. A product is negative if
 * a is, except if it rounds to 0. Then half - 1 makes no difference. */
LT_INLINE int32_t lt_scale_down(int32_t a, int32_t b, int32_t half, int32_t shift)
{
    return lt_high_mul_add(a, b, half + (a >> 31)) >> shift;
}

#endif
