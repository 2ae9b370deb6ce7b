/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_vector.h: CONV_2D and FULLY_CONNECTED, int8, one group, for cores with Arm's Helium.
 *
 * A faster form of lt_conv.h, for programs compiled for such a core. It makes four channels of two pixels at
 * once, or of one pixel, with sixteen products per instruction. Factors are below 1/2, as for lt_narrow
 * (lt_fixed.h); _any takes any, as for lt_broad. There are at most 65532 channels. The compiler checks this.
 *
 * A record has the data of four channels (zeros if missing):
 *   four biases, with the input's zero point folded in;
 *   weights, int8: [chunks][4][16], where chunks is (products - 1) / 16; then [4][T] for the 1 to 16
 *     products that are left, padded with zeros, where T is 8 for at most eight of them, else 16;
 *   four multipliers, then four exponents: a factor is multiplier * 2^(exponent - 31).
 */
#ifndef LT_CONV_VECTOR_H
#define LT_CONV_VECTOR_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: 0 bytes if direct; `products` bytes if lean, or if out_w == 1; otherwise twice as many. The
 *   lean form makes one pixel at a time, which takes more instructions.
 */
typedef struct {
    const int32_t *records; /* [ceil(out_c / 4)]: see above */
    uint16_t products;      /* kernel_h * kernel_w * in_c */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t direct;   /* 1 x 1 without padding: pixels are read in place */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* not direct: 0x80 to flip the sign bits of input bytes, else 0 */
} lt_conv_vector_s8;

void lt_conv_vector_s8_row(const void *params, const lt_step *step);

/* Like lt_conv_vector_s8_row, for any factors: exponents can be 0 and more. */
void lt_conv_vector_s8_any(const void *params, const lt_step *step);

/* Parts of the kernel that are in assembly for cores with Helium. */

/* Some groups of four channels of pairs of pixels, or of single pixels (these have no x[1]). */
typedef struct {
    const int8_t *x[2]; /* products of each pixel */
    int32_t chunks;     /* groups of sixteen products before the last ones */
    const int32_t *records;
    int8_t *out;    /* output of the first pixel */
    int32_t groups; /* groups of four channels, at least 1 */
    int32_t out_c;  /* distance to the output of the next pixel */
    int32_t turns;  /* pairs or single pixels, at least 1 */
    int32_t next;   /* distance to the products of the next pair or pixel */
    int32_t last;   /* number of the last products, 1 to 16 */
    int32_t zero, low, high;
} lt_vector;

/* _8 is for at most eight last products, _16 for more. `two` and `above` make pairs and do not clamp. In
 * `above`, results below `zero` can be 1 too large, as they are clamped to `zero` or more later. */
void lt_vector_two_8(const lt_vector *of);
void lt_vector_two_16(const lt_vector *of);
void lt_vector_above_8(const lt_vector *of);
void lt_vector_above_16(const lt_vector *of);
void lt_vector_two_any_8(const lt_vector *of);
void lt_vector_two_any_16(const lt_vector *of);
void lt_vector_one_8(const lt_vector *of);
void lt_vector_one_16(const lt_vector *of);
void lt_vector_one_any_8(const lt_vector *of);
void lt_vector_one_any_16(const lt_vector *of);

/* Some `bytes` of each of some `rows`. They go to places that are `pitch` apart, xor `flip`. For a null row,
 * they are `padding`. */
typedef struct {
    int32_t rows, bytes, pitch, padding, flip, next;
} lt_vector_rows;

/* Copy them from `offset` on. _two copies at most 16 bytes of each row, and also those from offset + next on,
 * to the end of the first ones. _fill sets n >= 0 bytes to a value. */
void lt_vector_copy(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_rows *of);
void lt_vector_copy_two(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_rows *of);
void lt_vector_fill(int8_t *to, int32_t value, int32_t n);

/* At most 16 bytes of each of some rows, side by side. Byte i is of tap taps[i]. It is at offset + places[i]
 * of its row if the tap is in `from` to `to` - 1. Otherwise, or if the row is null, it is `padding`. */
typedef struct {
    int32_t rows, bytes, padding, flip;
    int32_t from, to;
    uint8_t places[16], taps[16];
} lt_vector_places;

void lt_vector_pick(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_places *of);

/* Clamp n >= 0 bytes to a range. */
void lt_vector_clamp(int8_t *at, int32_t n, int32_t low, int32_t high);

#endif
