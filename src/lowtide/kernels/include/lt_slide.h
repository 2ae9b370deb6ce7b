/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slide.h: moving a buffer down, for the compacting allocator. */
#ifndef LT_SLIDE_H
#define LT_SLIDE_H

#include "lowtide.h"

/* step->in[0], step->out[0]: where the buffer is and where it goes; they may overlap. */
typedef struct {
    uint32_t bytes;
} lt_slide;

void lt_slide_buffer(const void *params, const lt_step *step);

#endif
