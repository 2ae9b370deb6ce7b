/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dots.h: rows of an int8 matrix times an int8 vector, for kernels that have such products inside. */
#ifndef LT_DOTS_H
#define LT_DOTS_H

#include "lowtide.h"

/* Add to four sums the n >= 0 products of x with four rows of the matrix, w and those that follow, `row`
 * bytes apart. Sums wrap. */
void lt_dots_s8(int32_t *sums, const int8_t *w, int32_t row, const int8_t *x, int32_t n);

/* The first of the four rows in which row i of `rows` is computed: rows are taken four by four, and the
 * last four may have some that were computed before. With less than four rows they are taken one by one,
 * as four that are 0 bytes apart. */
static inline int32_t lt_dots_first(int32_t i, int32_t rows)
{
    return rows >= 4 && i > rows - 4 ? rows - 4 : i;
}

#endif
