/* SPDX-License-Identifier: Apache-2.0 */
/* lt_copy.h: copies of runs of bytes that begin at any address, for cores that load and store words and
 * half-words only at multiples of their size.
 *
 * Why not memcpy: C libraries for such cores copy byte by byte if either address is not a multiple of four.
 * This takes five to seven instructions per byte, and runs of channels begin at any address.
 */
#ifndef LT_COPY_H
#define LT_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lt_fixed.h"

#if defined(__GNUC__) && !defined(__ARM_FEATURE_UNALIGNED)
#define LT_COPIES_WORDS

/* Copy `size` bytes (a word, half-word or byte) at offset `at`. Both addresses are multiples of `size`. */
#define LT_COPY_ONE(to, from, at, size)                                          \
    (void)__builtin_memcpy(__builtin_assume_aligned((to) + (at), size),          \
                           __builtin_assume_aligned((from) + (at), size), size)

/* Copy four of them. */
#define LT_COPY_FOUR(to, from, at, size)                  \
    do {                                                  \
        LT_COPY_ONE(to, from, at, size);                  \
        LT_COPY_ONE(to, from, (at) + (size), size);       \
        LT_COPY_ONE(to, from, (at) + (2 * (size)), size); \
        LT_COPY_ONE(to, from, (at) + (3 * (size)), size); \
    } while (0)

/* Copy n >= 0 bytes, from the first to the last. If the two runs overlap, `to` is below `from`: no unit is then
 * larger than the distance between them. */
static inline void lt_copy_down(uint8_t *to, const uint8_t *from, int32_t n)
{
    const uint8_t *const end = from + n;
    const uint32_t apart = (uint32_t)((uintptr_t)to ^ (uintptr_t)from) & 3U;
    if ((n >= 8) && ((apart & 1U) == 0U)) {
        for (; ((uintptr_t)from & (3U - apart)) != 0U; from++, to++) {
            *to = *from;
        }
        if (apart == 0U) {
            for (; (end - from) >= 16; from += 16, to += 16) {
                LT_COPY_FOUR(to, from, 0, 4);
            }
            if ((end - from) >= 8) {
                LT_COPY_ONE(to, from, 0, 4);
                LT_COPY_ONE(to, from, 4, 4);
                from += 8;
                to += 8;
            }
            if ((end - from) >= 4) {
                LT_COPY_ONE(to, from, 0, 4);
                from += 4;
                to += 4;
            }
        } else {
            for (; (end - from) >= 8; from += 8, to += 8) {
                LT_COPY_FOUR(to, from, 0, 2);
            }
        }
    }
    for (; (end - from) >= 8; from += 8, to += 8) {
        LT_COPY_FOUR(to, from, 0, 1);
        LT_COPY_FOUR(to, from, 4, 1);
    }
    const uint32_t left = (uint32_t)(end - from);
    if ((left & 4U) != 0U) {
        LT_COPY_FOUR(to, from, 0, 1);
        from += 4;
        to += 4;
    }
    if ((left & 2U) != 0U) {
        LT_COPY_ONE(to, from, 0, 1);
        LT_COPY_ONE(to, from, 1, 1);
        from += 2;
        to += 2;
    }
    if ((left & 1U) != 0U) {
        *to = *from;
    }
}

/* The same, of runs that don't overlap. */
static inline void lt_copy_run(uint8_t *to, const uint8_t *from, int32_t n)
{
    lt_copy_down(to, from, n);
}

#elif defined(__GNUC__)

static inline void lt_copy_down(uint8_t *to, const uint8_t *from, int32_t n)
{
    uint32_t one, other;
    for (; n >= 8; n -= 8, from += 8, to += 8) {
        LT_LOOP_AS_IT_IS(to);
        (void)__builtin_memcpy(&one, from, 4);
        (void)__builtin_memcpy(&other, from + 4, 4);
        (void)__builtin_memcpy(to, &one, 4);
        (void)__builtin_memcpy(to + 4, &other, 4);
    }
    for (; n > 0; n--) {
        LT_LOOP_AS_IT_IS(to);
        *to++ = *from++;
    }
}

static inline void lt_copy_run(uint8_t *to, const uint8_t *from, int32_t n)
{
    (void)memcpy(to, from, (size_t)n);
}

#else

static inline void lt_copy_down(uint8_t *to, const uint8_t *from, int32_t n)
{
    (void)memmove(to, from, (size_t)n);
}

static inline void lt_copy_run(uint8_t *to, const uint8_t *from, int32_t n)
{
    (void)memcpy(to, from, (size_t)n);
}

#endif

#ifdef LT_DSP
#define LT_COPY_FEW 8
#else
#define LT_COPY_FEW 7
#endif

/* The same, where runs of a few bytes are common (elements, pixels of few channels) and not worth a call. */
static inline void lt_copy_piece(uint8_t *to, const uint8_t *from, int32_t n)
{
#ifdef LT_COPIES_WORDS
    if (n == 1) {
        *to = *from;
        return;
    }
#else
    if (n <= LT_COPY_FEW) {
        if ((n & 1) != 0) {
            *to = *from;
        }
        if ((n & 2) != 0) {
            (void)memcpy(to + (n & 1), from + (n & 1), 2);
        }
        if ((n & 4) != 0) {
            (void)memcpy(to + (n & 3), from + (n & 3), 4);
        }
#ifdef LT_DSP
        if (n == 8) {
            (void)memcpy(to, from, 4);
            (void)memcpy(to + 4, from + 4, 4);
        }
#endif
        return;
    }
#endif
    lt_copy_run(to, from, n);
}

/* Copy `runs` runs of n bytes: run i from `from` + i * `step`, to `to` + i * `stride`. */
static inline void lt_copy_runs(uint8_t *to, int32_t stride, const uint8_t *from, int32_t step, int32_t n,
                                int32_t runs)
{
    if (n == 1) {
        for (; runs > 0; runs--, to += stride, from += step) {
            *to = *from;
        }
    } else if (n == 2) {
        for (; runs > 0; runs--, to += stride, from += step) {
#ifdef LT_COPIES_WORDS
            LT_COPY_ONE(to, from, 0, 1);
            LT_COPY_ONE(to, from, 1, 1);
#else
            (void)memcpy(to, from, 2);
#endif
        }
    } else {
        for (; runs > 0; runs--, to += stride, from += step) {
            lt_copy_piece(to, from, n);
        }
    }
}

#endif
