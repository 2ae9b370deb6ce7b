/* SPDX-License-Identifier: Apache-2.0 */
/* lt_filter_bank.h: energies of a spectrum to the features that speech networks are given.
 *
 * Source: SignalFilterBank and what follows it in TFLM: signal/src/filter_bank.cc,
 * filter_bank_square_root.cc, filter_bank_spectral_subtraction.cc, pcan_argc_fixed.cc,
 * filter_bank_log.cc, square_root_32.cc, square_root_64.cc and log.cc. Sums and products that do not fit
 * wrap, as there.
 */
#ifndef LT_FILTER_BANK_H
#define LT_FILTER_BANK_H

#include "lowtide.h"

/* Triangular filters that overlap by half: each energy goes into one channel by its weight, and into the
 * next one by its unweight. There is one band more than channels, whose weights go nowhere.
 *
 * step->in[0]: uint32 energies. step->out[0]: [channels] uint64, of other memory. No scratch. */
typedef struct {
    const uint16_t *weights, *unweights;
    const uint16_t *starts;        /* [channels + 1]: of each band, its first energy */
    const uint16_t *weight_starts; /* [channels + 1]: and its first weight */
    const uint16_t *widths;        /* [channels + 1]: how many energies it has */
    uint16_t channels;
} lt_filter_bank;

void lt_filter_bank_row(const void *params, const lt_step *step);

/* Rounded square roots, shifted down by the bits that step->in[1] has, modulo 32.
 *
 * step->in[0]: [channels] uint64. step->in[1]: int32. step->out[0]: [channels] uint32; it may begin where
 * in[0] does. No scratch. */
typedef struct {
    uint16_t channels;
} lt_square_root;

void lt_square_root_row(const void *params, const lt_step *step);

/* Takes away an estimate of the noise, which follows the energies slowly.
 *
 * step->in[0]: [channels] uint32. step->out[0]: the same without noise; may be in[0]'s memory.
 * step->out[1]: [channels] uint32: the estimate. step->out[2]: the estimate again, from the last call,
 * written. No scratch. */
typedef struct {
    uint32_t even_smoothing, odd_smoothing, even_one_minus, odd_one_minus; /* of channels */
    uint32_t least; /* what remains at least */
    uint16_t channels;
    uint8_t smoothing_bits, bits; /* at most 31, and 63 */
    uint8_t clamps;               /* the estimate is never above the energy */
} lt_subtraction;

void lt_subtraction_row(const void *params, const lt_step *step);

/* Per-channel amplification: energies times a gain that falls as the noise grows, compressed.
 *
 * step->in[0], step->in[1]: [channels] uint32: energies, and the estimate of their noise.
 * step->out[0]: [channels] uint32; may be the memory of either. No scratch. */
typedef struct {
    const int16_t *gains; /* [125]: parabolas, 4 values for each bit that a number can have */
    uint16_t channels;
    uint8_t shift; /* at most 63 */
} lt_pcan;

void lt_pcan_row(const void *params, const lt_step *step);

/* out = scale * ln(in << bits), limited to INT16_MAX; 0 for what is at most 1.
 *
 * step->in[0]: [channels] uint32. step->out[0]: [channels] int16; it may begin where in[0] does. No
 * scratch. */
typedef struct {
    const uint16_t *logarithms; /* [129]: 2^16 * (log2(1 + i / 128) - i / 128) */
    uint32_t scale;
    uint16_t channels;
    uint8_t bits; /* at most 31 */
} lt_log;

void lt_log_row(const void *params, const lt_step *step);

#endif
