/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_3x3.h: DEPTHWISE_CONV_2D, int8, up to 3 x 3, for cores with Arm's DSP extension.
 *
 * A quicker form of lt_depthwise_mult1.h, for programs that are made for such a core; its conditions,
 * and: up to three rows, two or three columns, no dilation along a row, stride 1 or 2 along it. Any number of
 * channels may be made of each. Smaller windows are 3 x 3 whose last rows are padding, or whose weights of the
 * last column are 0.
 *
 * Four channels at a time, the columns of the window are unpacked once to pairs of halves, then each
 * channel goes along them with its weights in registers. A column is six words of two halves, of
 * x - input_zero: for channels 0 to 3 of the group, and rows 0 to 2 of the window (low half first):
 *   word 0: rows 0 and 1 of channel 0    word 3: rows 0 and 1 of channel 1
 *   word 1: row 2 of channels 0 and 2    word 4: row 2 of channels 1 and 3
 *   word 2: rows 0 and 1 of channel 2    word 5: rows 0 and 1 of channel 3
 * The first two words are what channel 0 needs, the second and third what channel 2 does, and so on.
 * The results, four bytes, replace word 0 of the window's second column, which nothing reads any more.
 *
 * The last group may have channels of the one before it; the only one, of fewer than four channels, has
 * weights of 0 for those that are missing.
 *
 * A record has five words for a channel; with w(row, column), and bytes from the lowest:
 *   w(0,0) w(0,1) w(1,0) w(1,1)
 *   w(0,2) w(2,0) w(1,2) w(2,1)
 *   the shift, 0 to 22, as low half, 2 * w(2,2) as high half
 *   2 * bias
 *   multiplier: the factor is multiplier * 2^(-32 - shift)
 * For any factors, conditions are those of lt_broad (lt_fixed.h), and it has seven words: -1 where results are
 * shifted right, else 0; the first two of those above; by how much results are shifted right as low byte, and
 * above it by how much sums are shifted left beforehand, 1 to 8, w(2,2) shifted so as high half; the bias,
 * shifted so; multiplier; centre.
 */
#ifndef LT_DEPTHWISE_3X3_H
#define LT_DEPTHWISE_3X3_H

#include "lowtide.h"
#include "lt_depthwise_mult1.h" /* the lean form is lt_depthwise_mult1_s8_plain */

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels * filters bytes; overlaps no input row.
 * step->scratch: 24 * ((piece - 1) * stride_w + 3) bytes, aligned to 4.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels * filters / 4)][4][5 or 7]: of channels 0, 2, 1 and 3 of each group */
    uint16_t in_w, out_w, channels;
    uint16_t filters; /* channels that are made of each */
    uint16_t piece; /* the columns of output that are made at a time */
    uint16_t stride_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* the fused activation's range */
    uint8_t kernel_h, kernel_w; /* 1 to 3, 2 or 3 */
} lt_depthwise_3x3_s8;

void lt_depthwise_3x3_s8_row(const void *params, const lt_step *step);

/* The same of any factors. */
void lt_depthwise_3x3_s8_any(const void *params, const lt_step *step);

/* The parts of it that are in assembly where there is a DSP extension: fours of channels of some windows.
 * What is 0 in `masks` is 0 in the first three words of each record. Columns that are there are unpacked,
 * from three rows, `row` and what is `row1` and `row2` bytes further; pixels, and results, are `pitch` bytes
 * apart. */
typedef struct {
    int32_t *columns; /* of the first window */
    uint32_t masks[3];
    int32_t odd; /* centre */
    const int32_t *records;
    int32_t *to; /* the first column that is there */
    const int8_t *row;
    intptr_t row1, row2;
    int32_t pitch;
    int32_t base;  /* -input_zero in both halves */
    int32_t count; /* of columns that are there */
    int32_t n;     /* of windows */
    int8_t *out;
    int32_t groups;
} lt_3x3_piece;

/* Make groups >= 1 of n >= 1 results, of windows one column apart, or two; records, row and out become those
 * that follow. */
void lt_3x3_make_1(lt_3x3_piece *of);
void lt_3x3_make_2(lt_3x3_piece *of);

/* The same of any factors. */
void lt_3x3_any_1(lt_3x3_piece *of);
void lt_3x3_any_2(lt_3x3_piece *of);

#endif
