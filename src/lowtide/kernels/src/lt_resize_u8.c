/* SPDX-License-Identifier: Apache-2.0 */
/* lt_resize_u8.c: see lt_resize_u8.h. */
#include "lt_resize_u8.h"

/* x * row * column, rounded twice. What is volatile no compiler fuses with the sum that follows. */
static float weighted(uint8_t x, float row, float column)
{
    volatile float first = (float)x * row;
    volatile float product = first * column;
    return product;
}

LT_SHARED void lt_resize_bilinear_u8_row(const void *params, const lt_step *step)
{
    const lt_resize_bilinear_u8 *p = params;
    uint8_t *out = step->out[0];
    float lower = p->lower[step->row], upper = 1 - lower;
    for (int32_t x = 0; x < p->width; x++, out += p->channels) {
        int32_t left = p->left[x] * p->channels, right = p->right[x] * p->channels;
        const uint8_t *above = step->in[0];
        const uint8_t *below = step->in[1];
        float weight = p->weight[x], rest = 1 - weight;
        if ((weight == 0) && (lower == 0)) {
            for (int32_t c = 0; c < p->channels; c++) {
                out[c] = above[left + c] ^ p->in_flip ^ p->out_flip;
            }
            continue;
        }
        for (int32_t c = 0; c < p->channels; c++) {
            float sum = weighted(above[left + c] ^ p->in_flip, upper, rest);
            sum += weighted(below[left + c] ^ p->in_flip, lower, rest);
            sum += weighted(above[right + c] ^ p->in_flip, upper, weight);
            sum += weighted(below[right + c] ^ p->in_flip, lower, weight);
            /* NOLINTNEXTLINE(bugprone-incorrect-roundings): as the reference rounds */
            out[c] = (uint8_t)(sum + 0.5f) ^ p->out_flip;
        }
    }
}
