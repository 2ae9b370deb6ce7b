/* SPDX-License-Identifier: Apache-2.0 */
/* lt_spectrum.h: the operators around a Fourier transform of sound: window, scale and energy.
 *
 * Source: SignalWindow, SignalFftAutoScale and SignalEnergy of TFLM, signal/src/window.cc,
 * fft_auto_scale.cc, max_abs.cc and energy.cc.
 */
#ifndef LT_SPECTRUM_H
#define LT_SPECTRUM_H

#include "lowtide.h"

/* SignalWindow: out = in * weights / 2^shift, rounded down and saturated to 16 bits.
 *
 * step->in[0], step->out[0]: rows of `count` int16 values; can be the same memory. No scratch memory. */
typedef struct {
    const int16_t *weights; /* [count] */
    uint16_t count;
    uint8_t shift; /* at most 31 */
} lt_window;

void lt_window_row(const void *params, const lt_step *step);

/* SignalFftAutoScale: scales a frame up by the greatest power of two for which its greatest absolute value
 * fits. As in the reference, INT16_MIN counts as the least value, and resets the search: results can wrap.
 *
 * step->in[0], step->out[0]: rows of `count` int16 values; can be the same memory.
 * step->out[1]: int32, the exponent of that power, 0 to 15. No scratch memory. */
typedef struct {
    uint16_t count;
} lt_auto_scale;

void lt_auto_scale_row(const void *params, const lt_step *step);

/* SignalEnergy: the energies of complex values `begin` to `end` - 1. All other outputs are 0.
 *
 * step->in[0]: pairs of int16, at least `end`. step->out[0]: `count` uint32; can be the same memory.
 * No scratch memory. */
typedef struct {
    uint16_t begin, end, count;
} lt_energy;

void lt_energy_row(const void *params, const lt_step *step);

#endif
