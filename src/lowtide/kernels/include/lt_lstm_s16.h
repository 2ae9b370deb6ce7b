/* SPDX-License-Identifier: Apache-2.0 */
/* lt_lstm_s16.h: UNIDIRECTIONAL_SEQUENCE_LSTM, int16 activations and states, int8 weights.
 *
 * Source: tensorflow/lite/micro/kernels/lstm_eval.h and lstm_eval_common.cc.
 */
#ifndef LT_LSTM_S16_H
#define LT_LSTM_S16_H

#include "lowtide.h"

/* One time step of one batch. Gates are in the order forget, input, cell, output.
 *
 * step->in[0]: a row of `inputs` int16.
 * step->out[0]: a row of `units` int16, the new hidden state.
 * step->out[1], step->out[2]: the hidden state and the cell state, `units` int16 each. The kernel reads and
 *   writes both. No row overlaps another.
 * step->scratch: 8 * units bytes.
 */
typedef struct {
    const int8_t *weights;         /* [4][units][inputs] */
    const int8_t *recurrent;       /* [4][units][units] */
    const int64_t *bias;           /* [4][units], with the input's zero point folded in */
    const int64_t *recurrent_bias; /* [4][units], with the hidden state's zero point folded in; null: 0 */
    const int32_t *multiplier;     /* [11]: weights of each gate, recurrent weights of each gate, */
    const int8_t *shift;           /* [11]: forget * cell, input * cell, output * tanh(cell) */
    const uint16_t *logistic;      /* the table of lt_logistic_s16 (lt_unary.h) */
    int32_t tanh_multiplier;       /* from the scale of the cell state to that of the table */
    uint16_t inputs, units;
    int16_t clip; /* the cell state is limited to [-clip, clip] if clip > 0 */
    uint8_t tanh_shift;
    int16_t hidden_zero;
} lt_lstm_s16;

void lt_lstm_s16_row(const void *params, const lt_step *step);

#endif
