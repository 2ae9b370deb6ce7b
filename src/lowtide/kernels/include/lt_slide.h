/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slide.h: moves a buffer to a lower address, for the compacting allocator and for windows that move on. */
#ifndef LT_SLIDE_H
#define LT_SLIDE_H

#include "lowtide.h"

/* step->in[0]: the buffer. step->out[0]: where it goes, `bytes` bytes, at a lower address. The two may overlap. */
typedef struct {
    uint32_t bytes;
} lt_slide;

void lt_slide_buffer(const void *params, const lt_step *step);

#endif
