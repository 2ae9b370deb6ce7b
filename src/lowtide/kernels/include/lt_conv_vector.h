/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_vector.h: CONV_2D and FULLY_CONNECTED, int8, one group, for cores with Arm's Helium.
 *
 * A quicker form of lt_conv.h, for programs that are made for such a core: four channels times two
 * pixels at once, or four times one, sixteen products an instruction. Factors are below 1/2, as for
 * lt_narrow (lt_fixed.h), or any, as for lt_broad; at most 65532 channels; the compiler checks it.
 *
 * A record is what four channels need (missing ones are zeros):
 *   four biases, with the input's zero point folded in;
 *   weights, int8: [chunks][4][16], where chunks is (products - 1) / 16, then [4][T] of the 1 to 16
 *     products that are left, T 8 if there are at most eight of them, else 16, padded with zeros;
 *   four multipliers, then four exponents: a factor is multiplier * 2^(exponent - 31).
 */
#ifndef LT_CONV_VECTOR_H
#define LT_CONV_VECTOR_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes; overlaps no input row.
 * step->scratch: 0 bytes if direct; `products` if lean, or out_w == 1; else twice as much. Lean, it takes
 *   one pixel at a time, which is more instructions.
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
    int8_t low, high; /* the fused activation's range */
    uint8_t direct;   /* 1 x 1 without padding: pixels are used where they are */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* not direct: 0x80 if input bytes' sign bits are to be flipped, else 0 */
} lt_conv_vector_s8;

void lt_conv_vector_s8_row(const void *params, const lt_step *step);

/* The same with any factors: exponents may be 0 and more. */
void lt_conv_vector_s8_any(const void *params, const lt_step *step);

/* The parts of it that are in assembly where there is Helium. */

/* Some fours of channels of pairs of pixels, or of single ones (which have no x[1]). */
typedef struct {
    const int8_t *x[2]; /* the products of either pixel */
    int32_t chunks;     /* sixteens of them before the last ones */
    const int32_t *records;
    int8_t *out;    /* of the first pixel */
    int32_t groups; /* fours of channels, at least 1 */
    int32_t out_c;  /* how far the output of the next pixel is */
    int32_t turns;  /* pairs, or single pixels, at least 1 */
    int32_t next;   /* how far the products of the next pair, or pixel, are */
    int32_t last;   /* the last products, 1 to 16 */
    int32_t zero, low, high;
} lt_vector;

/* For at most eight last products, and for more. Results of pairs are not clamped; `above`, those below
 * `zero` may be one too large, since they will be clamped to no less; `any` factors. */
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

/* Some `bytes` of each of some `rows`, which go to places `pitch` apart, their bits `flip` flipped; those of
 * a row that is null are `padding`. */
typedef struct {
    int32_t rows, bytes, pitch, padding, flip, next;
} lt_vector_rows;

/* Copy them from `offset` on; at most 16 bytes of each, and those from offset + next on to where the first
 * ones end, at once; set n >= 0 bytes to a value. */
void lt_vector_copy(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_rows *of);
void lt_vector_copy_two(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_rows *of);
void lt_vector_fill(int8_t *to, int32_t value, int32_t n);

/* At most 16 bytes of each of some rows, which go side by side: those of taps `from` to `to` - 1 are at `places`
 * from `offset` on, the others are padding, as are those of a row that is null. */
typedef struct {
    int32_t rows, bytes, padding, flip;
    int32_t from, to;
    uint8_t places[16], taps[16];
} lt_vector_places;

void lt_vector_pick(int8_t *to, const void *const *rows, int32_t offset, const lt_vector_places *of);

/* Bring n >= 0 bytes into a range. */
void lt_vector_clamp(int8_t *at, int32_t n, int32_t low, int32_t high);

#endif
