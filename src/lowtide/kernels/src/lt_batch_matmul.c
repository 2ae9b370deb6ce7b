/* SPDX-License-Identifier: Apache-2.0 */
/* lt_batch_matmul.c: see lt_batch_matmul.h. */
#include "lt_batch_matmul.h"

#include "lt_fixed.h"

LT_SHARED void lt_batch_matmul_s8_row(const void *params, const lt_step *step)
{
    const lt_batch_matmul_s8 *p = params;
    const int8_t *left = step->in[0];
    int8_t *out = step->out[0];
    if (p->left_columns != 0) {
        left += step->row % p->left_columns;
    }
    LT_MACS(p->columns * p->depth);
    for (int32_t j = 0; j < p->columns; j++) {
        const int8_t *right = (const int8_t *)step->in[1] + (j * p->right_across);
        int32_t sum = 0;
        for (int32_t k = 0; k < p->depth; k++) {
            sum += (left[k * p->left_pitch] - p->left_zero) *
                   (right[k * p->right_down] - p->right_zero);
        }
        sum = lt_scale(sum, p->multiplier, p->shift) + p->output_zero;
        out[j] = (int8_t)lt_clamp(sum, INT8_MIN, INT8_MAX);
    }
}

LT_SHARED void lt_batch_matmul_s16_row(const void *params, const lt_step *step)
{
    const lt_batch_matmul_s8 *p = params;
    const int16_t *left = step->in[0];
    int16_t *out = step->out[0];
    if (p->left_columns != 0) {
        left += step->row % p->left_columns;
    }
    LT_MACS(p->columns * p->depth);
    for (int32_t j = 0; j < p->columns; j++) {
        const int16_t *right = (const int16_t *)step->in[1] + (j * p->right_across);
        int64_t sum = 0;
        for (int32_t k = 0; k < p->depth; k++) {
            sum += (int32_t)(left[k * p->left_pitch] * right[k * p->right_down]);
        }
        int32_t y = lt_scale_wide(sum, p->multiplier, p->shift);
        out[j] = (int16_t)lt_clamp(y, INT16_MIN, INT16_MAX);
    }
}
