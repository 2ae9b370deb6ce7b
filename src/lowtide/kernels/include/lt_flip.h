/* SPDX-License-Identifier: Apache-2.0 */
/* lt_flip.h: bytes with their sign bit flipped: x - 128 of a uint8, as an int8, and back. */
#ifndef LT_FLIP_H
#define LT_FLIP_H

#include "lowtide.h"

typedef struct {
    int32_t count; /* bytes of a row */
} lt_flip;

/* step->in[0], step->out[0]: a row of `count` bytes; they may be the same. No scratch. */
void lt_flip_row(const void *params, const lt_step *step);

#endif
