/* SPDX-License-Identifier: Apache-2.0 */
/* lt_resize.c: see lt_resize.h. */
#include "lt_resize.h"

#define ONE 1024 /* a weight of 1 */

/* The weighted sum of one channel of a row's two pixels, in 1/1024. */
static int32_t across(const int8_t *pixel, int32_t next, int32_t weight)
{
    return (weight == 0) ? (pixel[0] * ONE) : ((pixel[0] * (ONE - weight)) + (pixel[next] * weight));
}

LT_SHARED void lt_resize_bilinear_s8_row(const void *params, const lt_step *step)
{
    const lt_resize_bilinear_s8 *p = params;
    int8_t *out = step->out[0];
    int32_t lower = p->lower[step->row];
    for (int32_t x = 0; x < p->width; x++) {
        int32_t offset = p->left[x] * p->channels;
        const int8_t *above = (const int8_t *)step->in[0] + offset;
        const int8_t *below = (lower == 0) ? above : ((const int8_t *)step->in[1] + offset);
        for (int32_t c = 0; c < p->channels; c++) {
            int32_t sum = across(above + c, p->channels, p->weight[x]) * (ONE - lower) +
                          across(below + c, p->channels, p->weight[x]) * lower;
            /* Division rounds towards zero. At most 128 * 2^20 + 2^19: no overflow. */
            *out++ = (int8_t)((sum + ((sum > 0) ? (1 << 19) : -(1 << 19))) / (1 << 20));
        }
    }
}
