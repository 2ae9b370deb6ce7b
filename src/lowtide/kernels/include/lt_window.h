/* SPDX-License-Identifier: Apache-2.0 */
/* lt_window.h: gathers the window of an output column, for kernels that multiply it as one run of bytes
 * (im2col).
 */
#ifndef LT_WINDOW_H
#define LT_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lt_fixed.h"

/* Copies n bytes. If the core has DSP instructions, it copies words, from any address. */
static inline void lt_copy(int8_t *to, const int8_t *from, int32_t n)
{
#ifdef LT_DSP
    for (; n >= 4; n -= 4, to += 4, from += 4) {
        (void)__builtin_memcpy(to, from, 4);
    }
    for (; n > 0; n--) {
        *to++ = *from++;
    }
#else
    (void)memcpy(to, from, (size_t)n);
#endif
}

static inline void lt_fill(int8_t *to, int32_t value, int32_t n)
{
#ifdef LT_DSP
    for (; n > 0; n--) {
        *to++ = (int8_t)value;
    }
#else
    (void)memset(to, value, (size_t)n);
#endif
}

/* Flips the sign bits of n bytes. */
static inline void lt_flip_bytes(int8_t *bytes, int32_t n)
{
#ifdef LT_DSP
    for (; n >= 4; n -= 4, bytes += 4) {
        int32_t word = (int32_t)((uint32_t)lt_load(bytes) ^ 0x80808080U);
        (void)__builtin_memcpy(bytes, &word, 4);
    }
#endif
    for (const int8_t *end = bytes + n; bytes != end; bytes++) {
        *bytes = (int8_t)(*bytes ^ 0x80);
    }
}

/* Copies the window whose first column is `first` to `to`: kernel_h runs of kernel_w pixels of `pixel` bytes,
 * `dilation` columns apart, from rows of in_w pixels. Null rows, and columns outside a row, are `padding`.
 * Returns the end of the copy. */
static inline int8_t *lt_gather(const void *const *rows, int32_t kernel_h, int32_t kernel_w,
                                int32_t dilation, int32_t first, int32_t in_w, int32_t pixel,
                                int32_t padding, int8_t *to)
{
    int32_t run = kernel_w * pixel;
    int32_t inside = (dilation == 1) && (first >= 0) && ((first + kernel_w) <= in_w);
    for (int32_t ky = 0; ky < kernel_h; ky++) {
        const int8_t *row = rows[ky];
        int32_t size = ((row == NULL) || inside) ? run : pixel, column = first;
        for (const int8_t *end = to + run; to != end; to += size, column += dilation) {
            if ((row == NULL) || (column < 0) || (column >= in_w)) {
                lt_fill(to, padding, size);
            } else {
                lt_copy(to, row + (column * pixel), size);
            }
        }
    }
    return to;
}

/* The same for output column x, with the params `p` of any convolution. */
#define LT_GATHER(p, rows, x, pixel, padding, to)                                                       \
    lt_gather(rows, (p)->kernel_h, (p)->kernel_w, (p)->dilation_w, (x) * (p)->stride_w - (p)->pad_left, \
              (p)->in_w, pixel, padding, to)

#endif
