/* SPDX-License-Identifier: Apache-2.0 */
/* lt_concat_u8.c: see lt_concat_u8.h. */
#include "lt_concat_u8.h"

LT_SHARED void lt_concat_u8_row(const void *params, const lt_step *step)
{
    const lt_concat_u8 *p = params;
    uint8_t *out = step->out[0];
    for (int32_t i = 0; i < p->runs; i++) {
        for (int32_t k = 0; k < p->count; k++) {
            int32_t n = p->bytes[k];
            const uint8_t *in = (const uint8_t *)step->in[k] + (i * n);
            const uint8_t *table = p->tables + (256 * p->table[k]);
            for (int32_t j = 0; j < n; j++) {
                *out++ = table[in[j]];
            }
        }
    }
}
