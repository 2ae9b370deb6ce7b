/* SPDX-License-Identifier: Apache-2.0 */
/* lt_four.h: four channels, or four rows of a matrix, at once, also if there are fewer than four. */
#ifndef LT_FOUR_H
#define LT_FOUR_H

#include "lowtide.h"

/* A group of four channels. `of` has their numbers, from the first one on. `next` and `other` are the
 * distances, in weights, from the first to the second and to the third. The fourth is as far behind the third
 * as the second is behind the first. If there are fewer than four channels, some occur more than once. */
typedef struct {
    const uint8_t *of;
    int32_t next, other;
} lt_four;

/* Returns the group for `count` channels, whose weights are `next` apart. */
static inline lt_four lt_four_of(int32_t count, int32_t next)
{
    static const uint8_t FEW[4][4] = {{0, 1, 2, 3}, {0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 1, 2}};
    const uint8_t *of = FEW[(count < 4) ? count : 0];
    lt_four four = {of, of[1] * next, of[2] * next};
    return four;
}

/* Returns whether channel i of the group is one that no earlier channel of the group is. */
static inline int32_t lt_four_is_new(const lt_four *four, int32_t i)
{
    return (i == 0) || (four->of[i] > four->of[i - 1]);
}

/* Returns the first channel of the group that has channel i, a multiple of 4. The last group can repeat
 * channels of the group before it. */
static inline int32_t lt_four_first(int32_t i, int32_t count)
{
    return ((count > 4) && (i > (count - 4))) ? (count - 4) : i;
}

#endif
