/* SPDX-License-Identifier: Apache-2.0 */
/* lt_fft.h: Fourier transforms of real signals in fixed point, of int16 and int32.
 *
 * Source: SignalRfft and SignalIrfft of TFLM, which use kissfft (version 130, tools/kiss_fftr.c) in fixed
 * point. It is a complex transform of half as many points by factors 4, 2, 3 and 5, each of which first
 * divides by itself, then one pass that separates even from odd. Products are rounded, halves up; sums wrap.
 * The reference needs tables and memory in RAM. Here, tables are constants, and all work is in the output.
 */
#ifndef LT_FFT_H
#define LT_FFT_H

#include "lowtide.h"

#define LT_FFT_FACTORS 16

/* A transform between 2 * `points` real values and `points` + 1 complex values of the positive frequencies.
 *
 * Forward: step->in[0]: `count` values, at most 2 * points; zeros follow. step->out[0]: points + 1 pairs.
 * Inverse: step->in[0]: points + 1 pairs. step->out[0]: 2 * points values.
 * The output must not overlap anything. No scratch memory. */
typedef struct {
    const void *turns;       /* [points] pairs: exp(-2 pi i k / points); for the inverse, conjugates */
    const void *parts;       /* [points / 2] pairs: exp(-pi i ((k + 1) / points + 1 / 2)); likewise */
    const uint8_t *factors;  /* [stages]: 2, 3, 4 or 5; their product is `points` */
    uint16_t points, count;
    uint8_t stages;
} lt_fft;

void lt_rfft_s16_row(const void *params, const lt_step *step);
void lt_rfft_s32_row(const void *params, const lt_step *step);
void lt_irfft_s16_row(const void *params, const lt_step *step);
void lt_irfft_s32_row(const void *params, const lt_step *step);

#endif
