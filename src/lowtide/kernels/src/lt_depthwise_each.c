/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_each.c: see lt_depthwise_each.h. */
#include "lt_depthwise_each.h"

#include <stddef.h>

#include "lt_fixed.h"

#ifdef LT_HELIUM
#include <arm_mve.h>
#endif

/* n bytes to places that are `apart` bytes apart. */
LT_APART static void spread(int8_t *to, const int8_t *from, int32_t n, int32_t apart)
{
#ifdef LT_HELIUM
    if (apart <= 16) { /* offsets are bytes */
        const uint8x16_t places = vmulq_n_u8(vidupq_n_u8(0, 1), (uint8_t)apart);
        for (; n > 0; n -= 16, from += 16, to += 16 * apart) {
            mve_pred16_t some = vctp8q((uint32_t)n);
            vstrbq_scatter_offset_p_s8(to, places, vldrbq_z_s8(from, some), some);
        }
        return;
    }
#endif
    int32_t two = 2 * apart, three = two + apart;
    for (; n >= 4; n -= 4, from += 4, to += 4 * apart) {
        to[0] = from[0];
        to[apart] = from[1];
        to[two] = from[2];
        to[three] = from[3];
    }
    for (; n > 0; n--, to += apart) {
        *to = *from++;
    }
}

LT_SHARED void lt_depthwise_each_s8_row(const void *params, const lt_step *step)
{
    const lt_depthwise_each_s8 *p = params;
    int32_t made = p->out_w * p->channels;
    void *results = step->scratch;
    int8_t *out = step->out[0];
    lt_step one = *step;
    one.out = &results;
    one.scratch = (int8_t *)results + ((made + 7) & ~7);
    for (; p != NULL; p = p->next, out++) {
        p->run(p->params, &one);
        spread(out, results, made, p->filters);
    }
}
