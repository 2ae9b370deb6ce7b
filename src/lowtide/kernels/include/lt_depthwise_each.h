/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_each.h: DEPTHWISE_CONV_2D, int8, several output channels per input channel, by kernels that
 * make one: the first of each, then the second, and so on.
 */
#ifndef LT_DEPTHWISE_EACH_H
#define LT_DEPTHWISE_EACH_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows, null where the row is padding, as the kernels that are called have them.
 * step->out[0]: a row of out_w * channels * filters bytes; overlaps no input row.
 * step->scratch: out_w * channels bytes, rounded up to a multiple of 8, then what these kernels need.
 */
typedef struct {
    lt_kernel run;      /* makes a row of out_w * channels bytes */
    const void *params; /* of that kernel */
    const void *next;   /* the same of the next channel of each; null: this is the last one */
    uint16_t channels;  /* of the input */
    uint16_t out_w;
    uint16_t filters; /* channels that are made of each */
} lt_depthwise_each_s8;

void lt_depthwise_each_s8_row(const void *params, const lt_step *step);

#endif
