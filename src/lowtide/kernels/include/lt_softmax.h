/* SPDX-License-Identifier: Apache-2.0 */
/* lt_softmax.h: SOFTMAX of int8 and uint8 (to 8 bits, or int8 to int16) and of int16.
 *
 * Source: tensorflow/lite/kernels/internal/reference/softmax.h, and gemmlowp's fixedpoint.h.
 */
#ifndef LT_SOFTMAX_H
#define LT_SOFTMAX_H

#include "lowtide.h"

/* One row of `groups` runs of `count` elements, 1 to 4095, of 8 bits. Each run has its own sum.
 *
 * step->in[0]: int8 or uint8. step->out[0]: as many elements: of the same type, with the type's least value
 *   as zero point and scale 1 / 256 (_8), or int16 with zero point -32768 and scale 1 / 65536 (_8_s16). They
 *   can be the same memory only if the types are the same. No scratch memory.
 */
typedef struct {
    const int32_t *table; /* exp(-i * scale * beta) in Q0.31 for i < reach */
    uint32_t groups, count;
    uint16_t reach;   /* values this far or farther below the run's greatest give 0; 1 to 256 */
    uint8_t in_flip;  /* 0x80 if the inputs are signed, else 0 */
    uint8_t out_flip; /* the same for outputs of 8 bits */
} lt_softmax_8;

void lt_softmax_8_row(const void *params, const lt_step *step);
void lt_softmax_8_s16_row(const void *params, const lt_step *step);

/* One row of `groups` runs of `count` elements, 1 to 32767, int16. Zero points are 0, outputs in 1 / 32768.
 *
 * step->in[0], step->out[0]: can be the same memory. No scratch memory.
 */
typedef struct {
    const int16_t *exp;        /* [513]: exp(x) at x = -10 ... 0 */
    const int16_t *reciprocal; /* [513]: 1 / (1 + x) at x = 0 ... 1 */
    uint32_t groups, count;
    int32_t multiplier; /* the factor from input differences to 10 / 65535: see lt_fixed.h */
    int8_t shift;
} lt_softmax_s16;

void lt_softmax_s16_row(const void *params, const lt_step *step);

#endif
