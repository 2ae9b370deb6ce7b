/* SPDX-License-Identifier: Apache-2.0 */
/* lt_spectrum.c: see lt_spectrum.h. */
#include "lt_spectrum.h"

#include "lt_bits.h"

LT_SHARED void lt_window_row(const void *params, const lt_step *step)
{
    const lt_window *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t x = ((int32_t)in[i] * p->weights[i]) >> p->shift;
        out[i] = (int16_t)((x < INT16_MIN) ? INT16_MIN : (x > INT16_MAX) ? INT16_MAX : x);
    }
}

/* The greatest absolute value, which INT16_MIN has none of: it wraps, and whatever follows is greater. */
static int32_t greatest(const int16_t *in, uint32_t count)
{
    int32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (in[i] > most) {
            most = in[i];
        } else if (-in[i] > most) {
            most = (in[i] == INT16_MIN) ? INT16_MIN : -in[i];
        }
    }
    return most;
}

LT_SHARED void lt_auto_scale_row(const void *params, const lt_step *step)
{
    const lt_auto_scale *p = params;
    const int16_t *in = step->in[0];
    int16_t *out = step->out[0];
    int32_t most = greatest(in, p->count);
    int32_t shift = (most > 0) ? (15 - (int32_t)lt_bits((uint32_t)most)) : 0;
    for (uint32_t i = 0; i < p->count; i++) {
        out[i] = (int16_t)(in[i] * (1 << shift));
    }
    *(int32_t *)step->out[1] = shift;
}

LT_SHARED void lt_energy_row(const void *params, const lt_step *step)
{
    const lt_energy *p = params;
    const int16_t *in = step->in[0];
    uint32_t *out = step->out[0];
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t sum = 0;
        if ((i >= p->begin) && (i < p->end)) {
            int32_t real = in[2 * i];
            int32_t imaginary = in[(2 * i) + 1];
            sum = (uint32_t)(real * real) + (uint32_t)(imaginary * imaginary);
        }
        out[i] = sum;
    }
}
