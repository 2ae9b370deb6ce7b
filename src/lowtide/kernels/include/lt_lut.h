/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lut.h: functions of one 8-bit variable, as tables made at compile time.
 *
 * RELU, RELU6, LEAKY_RELU, HARD_SWISH, LOGISTIC, TANH, ABS, ELU, RSQRT, and QUANTIZE from 8 bits to 8.
 */
#ifndef LT_LUT_H
#define LT_LUT_H

#include "lowtide.h"

/* step->in[0], step->out[0]: rows of `count` bytes; can be the same memory. No scratch memory. */
typedef struct {
    const uint8_t *table; /* [256]: the output for each input byte; signed values in two's complement */
    uint32_t count;
} lt_lut;

void lt_lut_8_row(const void *params, const lt_step *step);

#endif
