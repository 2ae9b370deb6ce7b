/* SPDX-License-Identifier: Apache-2.0 */
/* lt_bits.h: how many bits a number has. */
#ifndef LT_BITS_H
#define LT_BITS_H

#include <stdint.h>

/* The number of the highest bit that is set, counted from 1; 0 for 0. */
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
