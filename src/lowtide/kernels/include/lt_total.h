/* SPDX-License-Identifier: Apache-2.0 */
/* lt_total.h: sums over the rows of a window that slides. Totals outlive a run: new rows are added, and
 * those that leave the window are subtracted.
 *
 * What a total is made of is MEAN, SUM or AVERAGE_POOL_2D over all rows and columns: lt_reduce.h and
 * lt_pool.h say of what. Sums wrap.
 */
#ifndef LT_TOTAL_H
#define LT_TOTAL_H

#include "lowtide.h"

/* step->in[0]: a row of `pixels` * `channels` elements.
 * step->out[0]: int32, a total for each channel: the row's elements are added or, if it `leaves`,
 *   subtracted, each with minus `zero`. Not the row's memory. No scratch. */
typedef struct {
    uint16_t pixels, channels;
    int16_t zero;
    uint8_t leaves;
} lt_total;

void lt_total_s8(const void *params, const lt_step *step);
void lt_total_s16(const void *params, const lt_step *step);

/* step->in[0]: `channels` totals; step->out[0]: as many elements. No scratch. */
typedef struct {
    uint16_t channels;
    int32_t start; /* added to each total */
    int32_t multiplier;
    int16_t shift;
    int16_t output_zero;
} lt_total_mean;

void lt_total_mean_s8(const void *params, const lt_step *step);
void lt_total_mean_s16(const void *params, const lt_step *step);

/* The same of an average, rounded to nearest, halves away from zero. */
typedef struct {
    uint16_t channels;
    int32_t start;
    int32_t count;     /* elements of a total */
    int16_t low, high; /* the fused activation's range */
} lt_total_average;

void lt_total_average_s8(const void *params, const lt_step *step);
void lt_total_average_s16(const void *params, const lt_step *step);

#endif
