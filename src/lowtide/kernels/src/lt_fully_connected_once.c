/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fully_connected_once.c: see lt_fully_connected_once.h. */
#include "lt_fully_connected_once.h"

#include "lt_fixed.h"

/* Output c of the sum of its products. */
static int32_t output(const lt_fully_connected_once *p, int32_t c, int64_t sum)
{
    const float *scale = p->scale + (3 * c);
    sum += p->bias[c];
    if (p->narrow != 0U) {
        sum = (int32_t)(uint32_t)sum;
    }
    double y = (double)sum * ((double)scale[0] + (double)scale[1] + (double)scale[2]);
    return lt_clamp(lt_nearest(y) + p->output_zero, p->low, p->high);
}

LT_SHARED void lt_fully_connected_once_s8_row(const void *params, const lt_step *step)
{
    const lt_fully_connected_once *p = params;
    const int8_t *in = step->in[0], *weights = p->weights;
    int8_t *out = step->out[0];
    LT_MACS(p->depth * p->out_c);
    for (int32_t c = 0; c < p->out_c; c++) {
        int64_t sum = 0;
        for (int32_t i = 0; i < p->depth; i++) {
            sum += (int32_t)(in[i] * *weights++);
        }
        *out++ = (int8_t)output(p, c, sum);
    }
}

LT_SHARED void lt_fully_connected_once_s16_row(const void *params, const lt_step *step)
{
    const lt_fully_connected_once *p = params;
    const int16_t *in = step->in[0];
    const int8_t *weights = p->weights;
    int16_t *out = step->out[0];
    LT_MACS(p->depth * p->out_c);
    for (int32_t c = 0; c < p->out_c; c++) {
        int64_t sum = 0;
        for (int32_t i = 0; i < p->depth; i++) {
            sum += (int32_t)(in[i] * *weights++);
        }
        *out++ = (int16_t)output(p, c, sum);
    }
}
