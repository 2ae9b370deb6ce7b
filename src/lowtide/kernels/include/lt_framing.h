/* SPDX-License-Identifier: Apache-2.0 */
/* lt_framing.h: sound that continues from call to call: overlapping frames, delays, stacks of frames.
 *
 * Source: SignalFramer, SignalDelay, SignalOverlapAdd and SignalStacker of TFLM, signal/micro/kernels/.
 * There, each has a ring of twice its size. Here, each keeps, in order, only what the next call needs.
 * All values are int16. No scratch memory.
 *
 * A kernel reads and writes its state, which starts as zeros. The state can be null if it has no elements.
 */
#ifndef LT_FRAMING_H
#define LT_FRAMING_H

#include "lowtide.h"

/* SignalFramer. step->in[0]: a row of frames * hop samples. step->out[0]: `frames` frames of `size` samples,
 * each `hop` samples after the last one; zeros while there are not enough samples for all of them.
 * step->out[1]: uint8, 1 if there are enough samples; null except in the last step.
 * step->out[2]: the state: `held` samples and, if `waits` is not 0, the frames so far, at most `waits`. */
typedef struct {
    uint16_t size, hop, frames;
    uint16_t held; /* samples to keep: less than size, at least size - hop */
    uint16_t waits; /* number of the first valid frame, counted from 1; 0: all frames are valid */
} lt_framer;

void lt_framer_row(const void *params, const lt_step *step);

/* SignalDelay. step->in[0], step->out[0]: rows of `count` samples. The output is the input `delay` samples
 * before. step->out[1]: the state: `delay` samples. */
typedef struct {
    uint16_t count, delay;
} lt_delay;

void lt_delay_row(const void *params, const lt_step *step);

/* SignalOverlapAdd. step->in[0]: `frames` frames of `size` samples. step->out[0]: frames * hop samples: the
 * sum of the frames, each `hop` samples after the last one. Every sum is saturated to 16 bits.
 * step->out[1]: the state: size - hop samples. */
typedef struct {
    uint16_t size, hop, frames;
} lt_overlap_add;

void lt_overlap_add_row(const void *params, const lt_step *step);

/* SignalStacker. step->in[0]: a frame of `channels` values. step->out[0]: a stack of `size` frames, a new one
 * every `hop` frames; otherwise zeros. The first stack has the first frame `first` more times.
 * step->out[1]: uint8, 1 if there is a stack.
 * step->out[2]: the state: size - 1 frames, then 1 more than the number of frames in it, or 0 at first. */
typedef struct {
    uint16_t channels, size, hop, first;
} lt_stacker;

void lt_stacker_row(const void *params, const lt_step *step);

#endif
