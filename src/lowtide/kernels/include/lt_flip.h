/* SPDX-License-Identifier: Apache-2.0 */
/* lt_flip.h: flips the sign bit of bytes: it makes x - 128, as int8, of a uint8 x, and back. */
#ifndef LT_FLIP_H
#define LT_FLIP_H

#include "lowtide.h"

typedef struct {
    int32_t count; /* bytes of a row */
} lt_flip;

/* step->in[0], step->out[0]: a row of `count` bytes; can be the same memory. No scratch memory. */
void lt_flip_row(const void *params, const lt_step *step);

#endif
