/* lt_batch_matmul.h: BATCH_MATMUL, int8 or int16, both operands made at run time.
 *
 * Source: tensorflow/lite/kernels/internal/reference/batch_matmul.h.
 */
#ifndef LT_BATCH_MATMUL_H
#define LT_BATCH_MATMUL_H

#include "lowtide.h"

/* One output row: a row of the left matrix times the right matrix.
 *
 * step->in[0]: the left row, elements left_pitch apart; if left_columns is not 0, a whole matrix of
 *   so many columns, and the left "row" is its column number (step % left_columns).
 * step->in[1]: the right matrix: element (k, j) is at k * right_down + j * right_across.
 * step->out[0]: a row of `columns` elements; overlaps no input. No scratch.
 */
typedef struct {
    int32_t depth;   /* elements of a left row, rows of the right matrix */
    int32_t columns; /* of the right matrix */
    int32_t left_pitch;
    int32_t left_columns;
    int32_t right_down, right_across;
    int32_t multiplier;
    int8_t shift;
    int8_t left_zero, right_zero;
    int8_t output_zero;
} lt_batch_matmul_s8;

void lt_batch_matmul_s8_row(const void *params, const lt_step *step);

/* int16, with the same params: zero points are 0, the shift is at most 14. */
void lt_batch_matmul_s16_row(const void *params, const lt_step *step);

#endif
