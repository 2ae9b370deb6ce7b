/* SPDX-License-Identifier: Apache-2.0 */
/* lt_spectrum.h: what stands around a Fourier transform of sound: a window, a scale, energies.
 *
 * Source: SignalWindow, SignalFftAutoScale and SignalEnergy of TFLM, signal/src/window.cc,
 * fft_auto_scale.cc, max_abs.cc and energy.cc.
 */
#ifndef LT_SPECTRUM_H
#define LT_SPECTRUM_H

#include "lowtide.h"

/* out = in * weights / 2^shift, rounded down and limited to 16 bits.
 *
 * step->in[0], step->out[0]: rows of `count` int16 values; they may be the same. No scratch. */
typedef struct {
    const int16_t *weights; /* [count] */
    uint16_t count;
    uint8_t shift; /* at most 31 */
} lt_window;

void lt_window_row(const void *params, const lt_step *step);

/* Scales a frame up by the power of two that its greatest absolute value leaves room for. A value of
 * INT16_MIN is taken for the least absolute value, as the reference does: what follows it may wrap.
 *
 * step->in[0], step->out[0]: rows of `count` int16 values; they may be the same.
 * step->out[1]: int32, the exponent of that power, 0 to 15. No scratch. */
typedef struct {
    uint16_t count;
} lt_auto_scale;

void lt_auto_scale_row(const void *params, const lt_step *step);

/* The energies of complex values number `begin` to before `end`; all others are 0.
 *
 * step->in[0]: pairs of int16, at least `end`. step->out[0]: `count` uint32; it may be the same memory.
 * No scratch. */
typedef struct {
    uint16_t begin, end, count;
} lt_energy;

void lt_energy_row(const void *params, const lt_step *step);

#endif
