/* SPDX-License-Identifier: Apache-2.0 */
/* lt_filter_bank.h: from the energies of a spectrum to the features that speech networks take.
 *
 * Source: SignalFilterBank and the operators after it in TFLM: signal/src/filter_bank.cc,
 * filter_bank_square_root.cc, filter_bank_spectral_subtraction.cc, pcan_argc_fixed.cc,
 * filter_bank_log.cc, square_root_32.cc, square_root_64.cc and log.cc. As in the reference, sums and products
 * that do not fit wrap.
 */
#ifndef LT_FILTER_BANK_H
#define LT_FILTER_BANK_H

#include "lowtide.h"

/* SignalFilterBank: triangular filters that overlap by half. Each energy goes into one channel by its weight,
 * and into the next one by its unweight. There are channels + 1 bands. The first one's weights are not used.
 *
 * step->in[0]: uint32 energies. step->out[0]: [channels] uint64, in other memory. No scratch memory. */
typedef struct {
    const uint16_t *weights, *unweights;
    const uint16_t *starts;        /* [channels + 1]: the first energy of each band */
    const uint16_t *weight_starts; /* [channels + 1]: the first weight of each band */
    const uint16_t *widths;        /* [channels + 1]: the number of energies of each band */
    uint16_t channels;
} lt_filter_bank;

void lt_filter_bank_row(const void *params, const lt_step *step);

/* SignalFilterBankSquareRoot: rounded square roots, shifted right by step->in[1] modulo 32.
 *
 * step->in[0]: [channels] uint64. step->in[1]: int32. step->out[0]: [channels] uint32; it can begin where
 * in[0] does. No scratch memory. */
typedef struct {
    uint16_t channels;
} lt_square_root;

void lt_square_root_row(const void *params, const lt_step *step);

/* SignalFilterBankSpectralSubtraction: subtracts an estimate of the noise, which follows the energies slowly.
 *
 * step->in[0]: [channels] uint32. step->out[0]: the same without noise; can be the memory of in[0].
 * step->out[1]: [channels] uint32: the estimate. step->out[2]: the estimate of the last call, which the
 * kernel replaces with the new one. No scratch memory. */
typedef struct {
    uint32_t even_smoothing, odd_smoothing, even_one_minus, odd_one_minus; /* for even and odd channels */
    uint32_t least; /* the least part of an energy that remains, times 2^bits */
    uint16_t channels;
    uint8_t smoothing_bits, bits; /* at most 31, and at most 63 */
    uint8_t clamps;               /* 1: the estimate is never above the energy */
} lt_subtraction;

void lt_subtraction_row(const void *params, const lt_step *step);

/* SignalPCAN, per-channel amplification: energies times a gain that falls as the noise grows, compressed.
 *
 * step->in[0], step->in[1]: [channels] uint32: energies, and the estimate of their noise.
 * step->out[0]: [channels] uint32; can be the memory of either input. No scratch memory. */
typedef struct {
    const int16_t *gains; /* [125]: parabolas, 4 values for each number of bits of the noise */
    uint16_t channels;
    uint8_t shift; /* at most 63 */
} lt_pcan;

void lt_pcan_row(const void *params, const lt_step *step);

/* SignalFilterBankLog: out = scale * ln(in << bits), at most INT16_MAX; 0 if in << bits is at most 1.
 *
 * step->in[0]: [channels] uint32. step->out[0]: [channels] int16; it can begin where in[0] does. No scratch
 * memory. */
typedef struct {
    const uint16_t *logarithms; /* [129]: 2^16 * (log2(1 + i / 128) - i / 128) */
    uint32_t scale;
    uint16_t channels;
    uint8_t bits; /* at most 31 */
} lt_log;

void lt_log_row(const void *params, const lt_step *step);

#endif
