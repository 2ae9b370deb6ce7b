/* SPDX-License-Identifier: Apache-2.0 */
/* lt_pool.h: AVERAGE_POOL_2D and MAX_POOL_2D for int8, uint8 and int16.
 *
 * Sources: tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h and pooling.h. An average is
 * rounded to nearest, halves away from zero. Padding is not counted.
 */
#ifndef LT_POOL_H
#define LT_POOL_H

#include "lowtide.h"

/* Sizes are in elements. Columns outside [0, in_w) are padding. Every window has at least one element that is
 * not padding. The window of an average has at most 2^31 / (greatest magnitude) elements. */
typedef struct {
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h; /* rows of a window; of _eat: rows of a step, 1 but for the greatest of bytes */
    uint16_t kernel_w, stride_w;
    int16_t pad_left; /* columns of padding to the left of the input */
    int16_t low, high; /* range of the fused activation */
} lt_pool;

/* The params of the kernels for uint8. */
typedef struct {
    lt_pool pool;
    uint8_t in_flip, out_flip; /* 0x80 if the bytes have their sign bits flipped, else 0 */
} lt_pool_u8;

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels elements, null where the row is padding (at the start or
 *   the end of the window).
 * step->out[0]: a row of out_w * channels elements. It must not overlap an input row. No scratch memory.
 */
void lt_average_pool_s8_row(const void *params, const lt_step *step);
void lt_average_pool_u8_row(const void *params, const lt_step *step);
void lt_average_pool_s16_row(const void *params, const lt_step *step);
void lt_max_pool_s8_row(const void *params, const lt_step *step);
void lt_max_pool_u8_row(const void *params, const lt_step *step);
void lt_max_pool_s16_row(const void *params, const lt_step *step);

/* Adds kernel_h input rows to the window; for windows that share no rows.
 *
 * step->in: the next rows of the window, in_w * channels elements each, null from the window's end on.
 * step->out[0]: the output row if this is the window's last row, else null. It can be the input's memory.
 * step->scratch: 4 + 4 * out_w * channels bytes (of the greatest of bytes: out_w * channels), which must last
 *   from step to step. Step 0 initialises them.
 */
void lt_average_pool_s8_eat(const void *params, const lt_step *step);
void lt_average_pool_u8_eat(const void *params, const lt_step *step);
void lt_average_pool_s16_eat(const void *params, const lt_step *step);
void lt_max_pool_s8_eat(const void *params, const lt_step *step);
void lt_max_pool_u8_eat(const void *params, const lt_step *step);
void lt_max_pool_s16_eat(const void *params, const lt_step *step);

#endif
