/* SPDX-License-Identifier: Apache-2.0 */
/* lt_batch_matmul.h: BATCH_MATMUL of int8 or int16, with two operands that the network computes.
 *
 * Source: tensorflow/lite/kernels/internal/reference/batch_matmul.h.
 */
#ifndef LT_BATCH_MATMUL_H
#define LT_BATCH_MATMUL_H

#include "lowtide.h"

/* One output row: a row of the left matrix times the right matrix. All distances are in elements.
 *
 * step->in[0]: the left row, with elements left_pitch apart. If left_columns is not 0, it is a whole matrix
 *   of left_columns columns, and the left "row" of step r is its column r % left_columns.
 * step->in[1]: the right matrix. Element (k, j) is at k * right_down + j * right_across.
 * step->out[0]: a row of `columns` elements. It must not overlap an input. No scratch memory.
 */
typedef struct {
    int32_t depth;   /* elements of a left row, and rows of the right matrix */
    int32_t columns; /* columns of the right matrix */
    int32_t left_pitch;
    int32_t left_columns;
    int32_t right_down, right_across;
    int32_t multiplier; /* the scale factor: see lt_fixed.h */
    int8_t shift;
    int8_t left_zero, right_zero;
    int8_t output_zero;
} lt_batch_matmul_s8;

void lt_batch_matmul_s8_row(const void *params, const lt_step *step);

/* int16, with the same params. The kernel takes all zero points as 0. The shift is at most 14. */
void lt_batch_matmul_s16_row(const void *params, const lt_step *step);

#endif
