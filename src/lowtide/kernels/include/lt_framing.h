/* SPDX-License-Identifier: Apache-2.0 */
/* lt_framing.h: sound that goes on from call to call: frames that overlap, delays, frames side by side.
 *
 * Source: SignalFramer, SignalDelay, SignalOverlapAdd and SignalStacker of TFLM, signal/micro/kernels/.
 * There each has a ring of twice its size; here each keeps what the next call needs, and no more, in order.
 * All are int16. No scratch.
 *
 * A state is written and read, and starts as zeros. It may be null where it has no elements.
 */
#ifndef LT_FRAMING_H
#define LT_FRAMING_H

#include "lowtide.h"

/* step->in[0]: a row of frames * hop samples. step->out[0]: `frames` frames of `size` samples, each `hop`
 * after the last; zeros if there are not enough samples for all of them yet.
 * step->out[1]: uint8, whether there are; null but in the last step.
 * step->out[2]: the state: `held` samples, and how many steps there were, if it `waits` for that many. */
typedef struct {
    uint16_t size, hop, frames;
    uint16_t held; /* less than size, at least size - hop */
    uint16_t waits;
} lt_framer;

void lt_framer_row(const void *params, const lt_step *step);

/* step->in[0], step->out[0]: rows of `count` samples; what comes out went in `delay` samples before.
 * step->out[1]: the state: `delay` samples. */
typedef struct {
    uint16_t count, delay;
} lt_delay;

void lt_delay_row(const void *params, const lt_step *step);

/* step->in[0]: `frames` frames of `size` samples. step->out[0]: frames * hop samples, their sum, limited to
 * 16 bits each time, where each frame begins `hop` after the last.
 * step->out[1]: the state: size - hop samples. */
typedef struct {
    uint16_t size, hop, frames;
} lt_overlap_add;

void lt_overlap_add_row(const void *params, const lt_step *step);

/* step->in[0]: a frame of `channels` values. step->out[0]: a stack of `size` frames, a new one every `hop`
 * frames; else zeros. To the first, the first frame is added `first` times more.
 * step->out[1]: uint8, whether there is one.
 * step->out[2]: the state: size - 1 frames, and 1 more than there are in it, or 0 at first. */
typedef struct {
    uint16_t channels, size, hop, first;
} lt_stacker;

void lt_stacker_row(const void *params, const lt_step *step);

#endif
