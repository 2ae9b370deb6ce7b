/* SPDX-License-Identifier: Apache-2.0 */
/* lt_log_softmax.h: LOG_SOFTMAX of int8.
 *
 * Source: LogSoftmaxQuantized in tensorflow/lite/kernels/internal/reference/log_softmax.h. The output's
 * scale is 1/16 and its zero point 127.
 */
#ifndef LT_LOG_SOFTMAX_H
#define LT_LOG_SOFTMAX_H

#include "lowtide.h"

/* step->in[0], step->out[0]: rows of groups * count bytes; each `count` bytes are one softmax. They can be
 * the same memory. No scratch memory. */
typedef struct {
    const int32_t *exps;   /* [reach]: exp of an input that is this far below the greatest, in Q12.19 */
    const int32_t *scaled; /* [reach]: minus this distance, in Q5.26 */
    uint32_t groups, count;
    int32_t divisor; /* multiplier of the factor from Q5.26 to inputs: see lt_fixed.h */
    int32_t least;   /* the least difference in the first sum, less 1 */
    int16_t divisor_shift; /* shift of this factor */
    uint16_t reach; /* inputs this far or farther below the greatest are not in the first sum */
} lt_log_softmax;

void lt_log_softmax_s8_row(const void *params, const lt_step *step);

#endif
