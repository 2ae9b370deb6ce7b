/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_4x2.h: CONV_2D and FULLY_CONNECTED, int8, one group, for cores with Arm's DSP extension.
 *
 * A faster form of lt_conv_packed.h, for programs compiled for such a core. It makes four channels of two
 * pixels at once, or of one pixel. Halves and conditions are those of lt_conv_packed.h, with one more:
 *   |bias + sum x * w1| < 2^23 for all x.
 *
 * A record has four channels, c0 to c3 (zeros if missing). First come four words where sums start: bias0,
 * bias2, bias0 + 256 * bias1 and bias2 + 256 * bias3, with the input's zero point folded in; then weights;
 * then for each channel its multiplier and a word: the shift (low byte) and above it the centre, that is
 * (2 * the output's zero + 1) << shift. Shifts are 0 to 15; a factor is multiplier * 2^(-32 - shift).
 *
 * lt_conv_4x2_s8_any takes all factors that meet the conditions of lt_broad (lt_fixed.h). Its records have
 * four words for each channel: the multiplier; two shifts; the centre; -1 if results are shifted right, else
 * 0. The low byte of the two shifts is the left shift of sums before scaling, 1 to 8. In odd channels, it is
 * 8 minus this shift, because their sums are 256 times as large. Above it is the right shift of results.
 *
 * Weights come in groups of four products. Each row of the window begins a new group, and zeros pad the last
 * group of a row. A group has four words: products 0 and 2 of c0 and c1, the same of c2 and c3, then products
 * 1 and 3 of both pairs. A word has two halves, 256 * w1 + w0; the low half is for its first product.
 */
#ifndef LT_CONV_4X2_H
#define LT_CONV_4X2_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes. It must not overlap an input row.
 * step->scratch: with d = 4 * quads, 4 * d bytes; but if lean or out_w == 1, 0 bytes if direct, else d bytes.
 *   Aligned to 4. The lean form makes one pixel at a time, which takes more instructions.
 */
typedef struct {
    const int32_t *records; /* [ceil(out_c / 4)][12 + 4 * quads], or for _any [20 + 4 * quads]: see above */
    uint16_t quads;         /* groups of four products: kernel_h * words */
    uint16_t words;         /* groups in a row of the window: ceil(kernel_w * in_c / 4) */
    int16_t last; /* the last column at which a window can begin to be read in whole words; or -1 */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t direct;   /* 1 x 1 without padding, in_c a multiple of 4: a single pixel is read in place */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* not direct: 0x80 to flip the sign bits of input bytes, else 0 */
} lt_conv_4x2_s8;

void lt_conv_4x2_s8_row(const void *params, const lt_step *step);

/* Like lt_conv_4x2_s8_row, if direct, not lean, and out_w > 1. It makes the last three pixels of an odd number
 * at once, and step->scratch has 6 * d bytes for them. */
void lt_conv_4x2_s8_three(const void *params, const lt_step *step);

/* Like lt_conv_4x2_s8_row, if out_w == 1 and not lean. It unpacks the pixel before it makes any channels, and
 * step->scratch has 2 * d bytes for that. */
void lt_conv_4x2_s8_one(const void *params, const lt_step *step);

/* Like lt_conv_4x2_s8_row, for any factors: see above. */
void lt_conv_4x2_s8_any(const void *params, const lt_step *step);

/* Parts of the kernel that are in assembly for cores with the DSP extension. */

/* Unpack `words` >= 1 words of bytes of two pixels, from any address, to halves: [words][4], with bytes 0
 * and 2 of each pixel, then bytes 1 and 3 of each. */
void lt_4x2_unpack(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words);

/* The same, with the sign bits of the bytes flipped. */
void lt_4x2_unpack_flipped(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words);

/* The same for three pixels, `pitch` bytes apart: [words][6], bytes 0 and 2 of each, then bytes 1 and 3. */
void lt_4x2_unpack_three(int32_t *to, const int8_t *pixel, int32_t pitch, int32_t words);

/* Some groups of four channels of one, two or three pixels. The functions move `records` past them. */
typedef struct {
    const int32_t *records;
    const void *x; /* [quads][2][pixels] words of halves; one_packed and one_any: [quads] words of bytes */
    int32_t quads;
    int8_t *out;   /* output of the first pixel */
    int32_t out_c; /* distance to the output of the next pixel */
    int32_t groups; /* groups of four channels */
} lt_4x2;

void lt_4x2_two(lt_4x2 *of);
void lt_4x2_one(lt_4x2 *of);
void lt_4x2_one_packed(lt_4x2 *of);
void lt_4x2_three(lt_4x2 *of);
void lt_4x2_two_any(lt_4x2 *of);
void lt_4x2_one_any(lt_4x2 *of);

#endif
