/* SPDX-License-Identifier: Apache-2.0 */
/* lt_bits.h: the bit length of a number. */
#ifndef LT_BITS_H
#define LT_BITS_H

#include <stdint.h>

/* Returns the number of the highest set bit, counted from 1. Returns 0 if x is 0. */
static inline uint32_t lt_bits(uint32_t x)
{
#if defined(__GNUC__)
    return (x != 0) ? (uint32_t)((8 * (int)sizeof(unsigned long)) - __builtin_clzl(x)) : 0;
#else
    uint32_t count = 0;
    for (; x != 0; x >>= 1) {
        count++;
    }
    return count;
#endif
}

#endif
