/* lt_divide.h: DIV of int8.
 *
 * Source: tensorflow/lite/kernels/internal/reference/div.h.
 */
#ifndef LT_DIVIDE_H
#define LT_DIVIDE_H

#include "lt_pair.h"

/* a / b, both less their zero points, by 1 / b from a table: 2^(31 - digits) / |b|. Where b is 0, which
 * the reference does not define, the result is output_zero. */
typedef struct {
    lt_pair pair;
    const int32_t *inverse; /* [256], by b's bits */
    const uint8_t *digits;  /* [256]: 0 to 8 */
    int32_t multiplier;     /* the factor of scales, as in lt_fixed.h */
    int8_t shift;
    int16_t a_zero, b_zero, output_zero;
    int16_t low, high; /* the fused activation's range */
} lt_divide;

void lt_div_s8_pair(const void *params, const lt_step *step);

#endif
