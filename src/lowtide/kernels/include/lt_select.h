/* SPDX-License-Identifier: Apache-2.0 */
/* lt_select.h: SELECT and SELECT_V2: a condition chooses between two operands; elements of any type.
 *
 * Source: tensorflow/lite/kernels/internal/reference/select.h.
 */
#ifndef LT_SELECT_H
#define LT_SELECT_H

#include "lowtide.h"

/* An output row of outer * inner elements of `size` bytes (1, 2, 4 or 8). An element is from a where the
 * condition (a byte) is not 0, else from b. The kernel goes through all three as in lt_pair.h.
 *
 * step->in: a row of the condition, of a and of b. step->out[0]: the output row; can be the memory of a or of
 *   b if that is not repeated. No scratch memory.
 */
typedef struct {
    uint32_t outer, inner;
    int32_t c_next, a_next, b_next;
    uint8_t c_step, a_step, b_step; /* 0 or 1 */
    uint8_t size;
} lt_select;

void lt_select_row(const void *params, const lt_step *step);

#endif
