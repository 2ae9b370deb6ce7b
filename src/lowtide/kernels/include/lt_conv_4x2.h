/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_4x2.h: CONV_2D and FULLY_CONNECTED, int8, one group, for cores with Arm's DSP extension.
 *
 * A quicker form of lt_conv_packed.h, for programs that are made for such a core: four channels times
 * two pixels at once, or four times one. Halves and conditions are as there, and besides
 *   |bias + sum x * w1| < 2^23 for all x.
 *
 * A record is of four channels, c0 to c3 (missing ones are zeros): four words of where sums start, bias0,
 * bias2, bias0 + 256 * bias1 and bias2 + 256 * bias3, with the input's zero point folded in; weights; for
 * each channel its multiplier, and a word with its shift as low byte and above it the centre, (2 * zero + 1)
 * << shift with the output's zero point. Shifts are 0 to 15, a factor is multiplier * 2^(-32 - shift).
 *
 * For any factors, conditions of scales are those of lt_broad (lt_fixed.h), and there are four words for each
 * channel: its multiplier; a word whose low byte is by how much sums are shifted left beforehand, 1 to 8, of
 * odd channels 8 less that, for their sums are 256 times what they are, and above it by how much results are
 * shifted right; the centre; and -1 where results are shifted right, else 0.
 *
 * Weights come in fours of products; each row of the window begins a new four, the last of a row is padded
 * with zeros. For a four of products there are four words: products 0 and 2 of c0 and c1, of c2 and c3;
 * then products 1 and 3. A word is two halves, 256 * w1 + w0; its first product is the low one.
 */
#ifndef LT_CONV_4X2_H
#define LT_CONV_4X2_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c bytes, null where the row is padding.
 * step->out[0]: a row of out_w * out_c bytes; overlaps no input row.
 * step->scratch: with d = 4 * quads, 4 * d bytes; if lean, or out_w == 1, 0 if direct, else d; aligned
 *   to 4. Lean, it takes one pixel at a time, which is more instructions.
 */
typedef struct {
    const int32_t *records; /* [ceil(out_c / 4)][12 + 4 * quads], or of any factors [20 + 4 * quads]: see above */
    uint16_t quads;         /* kernel_h * words */
    uint16_t words;         /* of a row of the window: ceil(kernel_w * in_c / 4) */
    int16_t last; /* where the last window begins whose rows are words in the image's rows; or -1 */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero;
    int8_t low, high; /* the fused activation's range */
    uint8_t direct;   /* 1 x 1 without padding, in_c a multiple of 4: one pixel is used where it is */
    uint8_t lean;     /* less scratch memory, more instructions */
    uint8_t flip;     /* not direct: 0x80 if input bytes' sign bits are to be flipped, else 0 */
} lt_conv_4x2_s8;

void lt_conv_4x2_s8_row(const void *params, const lt_step *step);

/* The same if direct and not lean; the last three pixels of an odd number are made at once, for which
 * step->scratch has 6 * d bytes. */
void lt_conv_4x2_s8_three(const void *params, const lt_step *step);

/* The same of any factors. */
void lt_conv_4x2_s8_any(const void *params, const lt_step *step);

/* The parts of it that are in assembly where there is a DSP extension. */

/* `words` >= 1 words of bytes of two pixels, from any address, as halves: [words][4], bytes 0 and 2 of
 * either pixel, then bytes 1 and 3. */
void lt_4x2_unpack(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words);

/* The same of bytes whose sign bits are to be flipped. */
void lt_4x2_unpack_flipped(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words);

/* The same of three pixels, `pitch` bytes apart: [words][6], bytes 0 and 2 of each, then bytes 1 and 3. */
void lt_4x2_unpack_three(int32_t *to, const int8_t *pixel, int32_t pitch, int32_t words);

/* Some fours of channels of one, two or three pixels. `records` become those that follow. */
typedef struct {
    const int32_t *records;
    const void *x; /* of several pixels [quads][2][pixels] halves, of one pixel [quads] words of bytes */
    int32_t quads;
    int8_t *out;   /* of the first pixel */
    int32_t out_c; /* how far the next pixel is from it */
    int32_t groups;
} lt_4x2;

void lt_4x2_two(lt_4x2 *of);
void lt_4x2_one(lt_4x2 *of);
void lt_4x2_three(lt_4x2 *of);
void lt_4x2_two_any(lt_4x2 *of);
void lt_4x2_one_any(lt_4x2 *of);

#endif
