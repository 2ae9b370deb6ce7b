/* SPDX-License-Identifier: Apache-2.0 */
/* lt_flip.c: see lt_flip.h. */
#include "lt_flip.h"

#include <string.h>

#include "lt_fixed.h"

#ifdef LT_HELIUM
#include <arm_mve.h>
#endif

LT_SHARED void lt_flip_row(const void *params, const lt_step *step)
{
    const lt_flip *p = params;
    const uint8_t *in = step->in[0];
    uint8_t *out = step->out[0];
    int32_t left = p->count;
#if defined(LT_HELIUM)
    for (; left >= 16; left -= 16, in += 16, out += 16) {
        vst1q_u8(out, veorq_u8(vld1q_u8(in), vdupq_n_u8(0x80)));
    }
#elif defined(LT_DSP)
    for (; left >= 16; left -= 16, in += 16, out += 16) {
        uint32_t words[4];
        (void)memcpy(words, in, sizeof words);
        words[0] ^= 0x80808080U;
        words[1] ^= 0x80808080U;
        words[2] ^= 0x80808080U;
        words[3] ^= 0x80808080U;
        (void)memcpy(out, words, sizeof words);
    }
#endif
    for (; left > 0; left--) {
        *out++ = *in++ ^ 0x80U;
    }
}
