/* SPDX-License-Identifier: Apache-2.0 */
/* lt_total.h: sums over the rows of a sliding window. Totals last from run to run: new rows are added, and
 * rows that leave the window are subtracted.
 *
 * The totals are those of MEAN, SUM or AVERAGE_POOL_2D over all rows and columns (see lt_reduce.h and
 * lt_pool.h). Sums wrap.
 */
#ifndef LT_TOTAL_H
#define LT_TOTAL_H

#include "lowtide.h"

/* step->in[0]: a row of `pixels` * `channels` elements.
 * step->out[0]: int32, a total for each channel, to which the kernel adds the row's elements, each minus
 *   `zero`. If `leaves` is 1, it subtracts them. Must not be the row's memory. No scratch memory. */
typedef struct {
    uint16_t pixels, channels;
    int16_t zero;
    uint8_t leaves;
} lt_total;

void lt_total_s8(const void *params, const lt_step *step);
void lt_total_s16(const void *params, const lt_step *step);

/* MEAN and SUM. step->in[0]: `channels` totals. step->out[0]: as many elements. No scratch memory. */
typedef struct {
    uint16_t channels;
    int32_t start; /* added to each total */
    int32_t multiplier;
    int16_t shift;
    int16_t output_zero;
} lt_total_mean;

void lt_total_mean_s8(const void *params, const lt_step *step);
void lt_total_mean_s16(const void *params, const lt_step *step);

/* AVERAGE_POOL_2D, with step->in[0] and step->out[0] as above. Rounds to nearest, halves away from zero. */
typedef struct {
    uint16_t channels;
    int32_t start;
    int32_t count;     /* elements of a total */
    int16_t low, high; /* range of the fused activation */
} lt_total_average;

void lt_total_average_s8(const void *params, const lt_step *step);
void lt_total_average_s16(const void *params, const lt_step *step);

#endif
