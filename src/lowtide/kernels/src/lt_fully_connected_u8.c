/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fully_connected_u8.c: see lt_fully_connected_u8.h. */
#include "lt_fully_connected_u8.h"

#include "lt_fixed.h"

LT_SHARED void lt_fully_connected_u8_row(const void *params, const lt_step *step)
{
    const lt_fully_connected_u8 *p = params;
    const uint8_t *in = step->in[0], *weights = p->weights;
    uint8_t *out = step->out[0];
    double scale = (double)p->scale + (double)p->scale_1 + (double)p->scale_2;
    LT_MACS(p->depth * p->out_c);
    for (int32_t c = 0; c < p->out_c; c++) {
        uint32_t sum = (uint32_t)p->bias[c];
        for (int32_t i = 0; i < p->depth; i++) {
            sum += (uint32_t)(((in[i] ^ p->in_flip) - p->input_zero) * (*weights++ - p->weights_zero));
        }
        int32_t y = lt_nearest((int32_t)sum * scale);
        *out++ = (uint8_t)(lt_clamp(y + p->output_zero, p->low, p->high) ^ p->out_flip);
    }
}
