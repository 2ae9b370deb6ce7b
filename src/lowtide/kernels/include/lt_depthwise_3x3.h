/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_3x3.h: DEPTHWISE_CONV_2D, int8, up to 3 x 3, for cores with Arm's DSP extension.
 *
 * A faster form of lt_depthwise_mult1.h, for programs compiled for such a core. It has the same conditions,
 * and more: up to three rows, two or three columns, no dilation along a row, stride 1 or 2 along it. Each
 * input channel can give any number of output channels. Smaller windows are stored as 3 x 3 windows whose
 * last rows are padding, or whose weights of the last column are 0.
 *
 * The kernel makes four channels at a time. It unpacks the columns of the window once to pairs of halves.
 * Then each channel goes along them with its weights in registers. A column is six words of two halves of
 * x - input_zero, for channels 0 to 3 of the group and rows 0 to 2 of the window (low half first):
 *   word 0: rows 0 and 1 of channel 0    word 3: rows 0 and 1 of channel 1
 *   word 1: row 2 of channels 0 and 2    word 4: row 2 of channels 1 and 3
 *   word 2: rows 0 and 1 of channel 2    word 5: rows 0 and 1 of channel 3
 * Channel 0 needs the first two words, channel 2 needs the second and the third, and so on.
 * The results, four bytes, replace word 0 of the window's second column, which nothing reads any more.
 *
 * The last group can repeat channels of the group before it. If there are fewer than four channels, the only
 * group has weights of 0 for the missing ones.
 *
 * A record has five words for a channel. With w(row, column), and the lowest byte first, they are:
 *   w(0,0) w(0,1) w(1,0) w(1,1)
 *   w(0,2) w(2,0) w(1,2) w(2,1)
 *   the shift, 0 to 22, in the low half; 2 * w(2,2) in the high half
 *   2 * bias
 *   the multiplier: the factor is multiplier * 2^(-32 - shift)
 * lt_depthwise_3x3_s8_any takes all factors that meet the conditions of lt_broad (lt_fixed.h). Its records
 * have seven words: -1 if results are shifted right, else 0; the first two words above; the right shift of
 * results (low byte), the left shift L of sums before scaling, 1 to 8 (next byte), and w(2,2) << L (high
 * half); the bias << L; the multiplier; the centre.
 */
#ifndef LT_DEPTHWISE_3X3_H
#define LT_DEPTHWISE_3X3_H

#include "lowtide.h"
#include "lt_depthwise_mult1.h" /* the lean form is lt_depthwise_mult1_s8_plain */

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels * filters bytes. It must not overlap an input row.
 * step->scratch: 24 * ((piece - 1) * stride_w + 3) bytes, aligned to 4.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels * filters / 4)][4][5 or 7]: channels 0, 2, 1, 3 of each group */
    uint16_t in_w, out_w, channels;
    uint16_t filters; /* output channels per input channel */
    uint16_t piece; /* columns of the output to make at a time */
    uint16_t stride_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* range of the fused activation */
    uint8_t kernel_h, kernel_w; /* 1 to 3, 2 or 3 */
} lt_depthwise_3x3_s8;

void lt_depthwise_3x3_s8_row(const void *params, const lt_step *step);

/* Like lt_depthwise_3x3_s8_row, for any factors: see above. */
void lt_depthwise_3x3_s8_any(const void *params, const lt_step *step);

/* Parts of the kernel that are in assembly for cores with the DSP extension. They make groups of four
 * channels of some windows. Bits that are 0 in `masks` become 0 in the three words of a record that hold
 * weights. The functions unpack `count` columns of three rows: `row`, and those `row1` and `row2` bytes
 * further. Pixels, and results, are `pitch` bytes apart. */
typedef struct {
    int32_t *columns; /* columns of the first window, unpacked */
    uint32_t masks[3];
    int32_t odd; /* the params' centre */
    const int32_t *records;
    int32_t *to; /* the first column that is not padding */
    const int8_t *row;
    intptr_t row1, row2;
    int32_t pitch;
    int32_t base;  /* -input_zero in both halves */
    int32_t count; /* columns to unpack */
    int32_t n;     /* windows */
    int8_t *out;
    int32_t groups; /* groups of four channels */
} lt_3x3_piece;

/* Make groups >= 1 groups of n >= 1 results each, for windows that are one column apart (_1), or two (_2).
 * These functions move records, row and out to what follows. */
void lt_3x3_make_1(lt_3x3_piece *of);
void lt_3x3_make_2(lt_3x3_piece *of);

/* The same, for any factors. */
void lt_3x3_any_1(lt_3x3_piece *of);
void lt_3x3_any_2(lt_3x3_piece *of);

#endif
