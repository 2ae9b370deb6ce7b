/* lt_log_softmax.h: LOG_SOFTMAX of int8.
 *
 * Source: LogSoftmaxQuantized in tensorflow/lite/kernels/internal/reference/log_softmax.h. The output's
 * scale is 1/16 and its zero point 127.
 */
#ifndef LT_LOG_SOFTMAX_H
#define LT_LOG_SOFTMAX_H

#include "lowtide.h"

/* step->in[0], step->out[0]: rows of groups * count bytes, of which each `count` are one softmax; may be
 * the same memory. No scratch. */
typedef struct {
    const int32_t *exps;   /* [reach]: exp of an input that far below the greatest, Q12.19 */
    const int32_t *scaled; /* [reach]: minus how far it is below, Q5.26 */
    uint32_t groups, count;
    int32_t divisor; /* from Q5.26 to inputs, as in lt_fixed.h */
    int32_t least;   /* the least difference of the first sum, less 1 */
    int16_t divisor_shift;
    uint16_t reach;
} lt_log_softmax;

void lt_log_softmax_s8_row(const void *params, const lt_step *step);

#endif
