/* SPDX-License-Identifier: Apache-2.0 */
/* lt_softmax.h: SOFTMAX of int8 and uint8 (to 8 bits, or int8 to int16) and of int16.
 *
 * Source: tensorflow/lite/kernels/internal/reference/softmax.h, and gemmlowp's fixedpoint.h.
 */
#ifndef LT_SOFTMAX_H
#define LT_SOFTMAX_H

#include "lowtide.h"

/* One row of `groups` runs of `count` elements, 1 to 4095, from 8 bits; each run has its own sum.
 *
 * step->in[0]: int8 or uint8; step->out[0]: as many of the same type, zero point at
 *   the type's least value and scale 1 / 256 (_8), or int16 at -32768 and 1 / 65536 (_8_s16). The
 *   same memory only if the types are the same. No scratch.
 */
typedef struct {
    const int32_t *table; /* exp(-i * scale * beta) in Q0.31 for i < reach */
    uint32_t groups, count;
    uint16_t reach;   /* values this far or farther below the row's greatest give 0; 1 to 256 */
    uint8_t in_flip;  /* 0x80 if the inputs are signed, 0 if they are not */
    uint8_t out_flip; /* the same of the outputs, if they have 8 bits */
} lt_softmax_8;

void lt_softmax_8_row(const void *params, const lt_step *step);
void lt_softmax_8_s16_row(const void *params, const lt_step *step);

/* One row of `groups` runs of `count` elements, 1 to 32767, int16: zero points are 0, the output is in 1 / 32768.
 *
 * step->in[0], step->out[0]: may be the same memory. No scratch.
 */
typedef struct {
    const int16_t *exp;        /* [513]: exp(x) at x = -10 ... 0 */
    const int16_t *reciprocal; /* [513]: 1 / (1 + x) at x = 0 ... 1 */
    uint32_t groups, count;
    int32_t multiplier; /* input differences to 10 / 65535, as in lt_fixed.h */
    int8_t shift;
} lt_softmax_s16;

void lt_softmax_s16_row(const void *params, const lt_step *step);

#endif
