/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_each.h: DEPTHWISE_CONV_2D, int8, several output channels per input channel. It calls kernels
 * that make one output channel per input channel: the first of each, then the second of each, and so on.
 */
#ifndef LT_DEPTHWISE_EACH_H
#define LT_DEPTHWISE_EACH_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows, null where the row is padding, in the form that the called kernels need.
 * step->out[0]: a row of out_w * channels * filters bytes. It must not overlap an input row.
 * step->scratch: out_w * channels bytes, rounded up to a multiple of 8, then what the called kernels need.
 */
typedef struct {
    lt_kernel run;      /* makes a row of out_w * channels bytes */
    const void *params; /* the params of that kernel */
    const void *next;   /* a struct like this for the next channel of each; null in the last one */
    uint16_t channels;  /* channels of the input */
    uint16_t out_w;
    uint16_t filters; /* output channels per input channel */
} lt_depthwise_each_s8;

void lt_depthwise_each_s8_row(const void *params, const lt_step *step);

#endif
