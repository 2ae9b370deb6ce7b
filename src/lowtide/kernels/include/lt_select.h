/* lt_select.h: SELECT and SELECT_V2: of two operands the one that a third says; elements of any type.
 *
 * Source: tensorflow/lite/kernels/internal/reference/select.h.
 */
#ifndef LT_SELECT_H
#define LT_SELECT_H

#include "lowtide.h"

/* An output row of outer * inner elements of `size` bytes (1, 2, 4 or 8). Operand k, the condition
 * (bytes), the first and the second, gives element (o, i) from place
 * o * (step[k] * inner + next[k]) + i * step[k]: see lt_pair.
 *
 * step->in: a row of each operand. step->out[0]: the output row; may be the memory of the first or the
 *   second operand if that is not repeated. No scratch.
 */
typedef struct {
    uint32_t outer, inner;
    int32_t next[3];
    uint8_t step[3]; /* 0 or 1 */
    uint8_t size;
} lt_select;

void lt_select_row(const void *params, const lt_step *step);

#endif
