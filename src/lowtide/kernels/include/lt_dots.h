/* SPDX-License-Identifier: Apache-2.0 */
/* lt_dots.h: rows of an int8 matrix times an int8 vector, for kernels that contain such products. */
#ifndef LT_DOTS_H
#define LT_DOTS_H

#include "lowtide.h"
#include "lt_four.h"

/* Add to four sums the n >= 0 products of x with four rows of the matrix, the first at w. The second and
 * third row are `next` and `other` bytes after it, and the fourth is as lt_four.h describes. Sums wrap. */
void lt_dots_s8(int32_t *sums, const int8_t *w, int32_t next, const int8_t *x, int32_t n, int32_t other);

#endif
