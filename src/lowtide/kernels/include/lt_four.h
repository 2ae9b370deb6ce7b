/* SPDX-License-Identifier: Apache-2.0 */
/* lt_four.h: four channels, or rows of a matrix, at once, also where there are fewer of them. */
#ifndef LT_FOUR_H
#define LT_FOUR_H

#include "lowtide.h"

/* Which channels the four are, from the first of them on, and how many weights those of the second and of the
 * third are behind the first's; those of the fourth are as far behind the third's as the second's are behind
 * the first's. Of fewer than four channels, some are there more than once. */
typedef struct {
    const uint8_t *of;
    int32_t next, other;
} lt_four;

/* Of `count` channels, whose weights are `next` apart. */
static inline lt_four lt_four_of(int32_t count, int32_t next)
{
    static const uint8_t FEW[4][4] = {{0, 1, 2, 3}, {0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 1, 2}};
    const uint8_t *of = FEW[(count < 4) ? count : 0];
    lt_four four = {of, of[1] * next, of[2] * next};
    return four;
}

/* Whether channel i of the four is one that an earlier one of them is not. */
static inline int32_t lt_four_is_new(const lt_four *four, int32_t i)
{
    return (i == 0) || (four->of[i] > four->of[i - 1]);
}

/* The first of the four in which channel i is, i being a multiple of 4: the last four may have channels of
 * those before. */
static inline int32_t lt_four_first(int32_t i, int32_t count)
{
    return ((count > 4) && (i > (count - 4))) ? (count - 4) : i;
}

#endif
