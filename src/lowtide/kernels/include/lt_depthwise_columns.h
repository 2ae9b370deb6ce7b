/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_columns.h: DEPTHWISE_CONV_2D, int8, windows of any size, for cores with Arm's DSP extension.
 *
 * A faster form of lt_depthwise_mult1.h, for programs compiled for such a core. It has the same conditions,
 * and at least four channels. It makes four channels at a time, and can make some of the last four twice.
 *
 * Windows of one column are summed from the rows in place. For other windows, the kernel first unpacks the
 * columns that are not padding to pairs of halves of x - input_zero: for each column and each pair of rows,
 * four words, of channels 0, 2, 1 and 3. The low half is the upper row. It unpacks weights in the same way.
 * A result is then the sum of products of two runs of words. If the window is dilated along the row, the
 * columns that one window reads are next to each other.
 *
 * A record, of four channels, is: 4 biases; weights; 4 multipliers; a word of 4 shifts of 0 to 22, the first
 * in the low byte. A factor is multiplier * 2^(-32 - shift). Weights are bytes, the lowest first. Windows of
 * one column have a word for each row, of channels 0 to 3. Others have [kernel_w][ceil(kernel_h / 2)][2]
 * words for two rows a and b: a0 a2 b0 b2, and a1 a3 b1 b3. If there is no row b, it is 0.
 *
 * lt_depthwise_columns_s8_any takes all factors that meet the conditions of lt_broad (lt_fixed.h). After its
 * weights, a record has four words for each channel: the multiplier; the left shift of sums before scaling,
 * 1 to 8 (low byte), and above it the right shift of results; the centre; -1 if that shift is not 0, else 0.
 */
#ifndef LT_DEPTHWISE_COLUMNS_H
#define LT_DEPTHWISE_COLUMNS_H

#include "lowtide.h"
#include "lt_depthwise_mult1.h" /* the lean forms are those of lt_depthwise_mult1.h */

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding. Only the first rows, or
 *   the last rows, can be padding.
 * step->out[0]: a row of out_w * channels bytes. It must not overlap an input row.
 * step->scratch: nothing if kernel_w is 1, else 12 * piece + 16 * ceil(kernel_h / 2) * (kernel_w + C) bytes,
 *   aligned to 4. C is the number of columns of the input that `piece` outputs read, which is
 *   (piece - 1) * stride_w + (kernel_w - 1) * dilation_w + 1, or in_w if that is less, rounded up to a
 *   multiple of dilation_w.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels / 4)]: the last one is of the last four channels */
    uint16_t in_w, out_w, channels;
    uint16_t piece; /* columns of the output to make at a time */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* range of the fused activation */
} lt_depthwise_columns_s8;

void lt_depthwise_columns_s8_row(const void *params, const lt_step *step);

/* Like lt_depthwise_columns_s8_row, for any factors: see above. */
void lt_depthwise_columns_s8_any(const void *params, const lt_step *step);

/* Parts of the kernel that are in assembly for cores with the DSP extension. */

/* The place of four channels of a pair of rows: `row` in one, and `other` bytes further in the other. Pixels
 * are `pitch` bytes apart. `base` is -input_zero in both halves. */
typedef struct {
    const int8_t *row;
    intptr_t other;
    int32_t pitch, base;
} lt_columns_source;

/* Unpack `count` >= 1 columns, `next` bytes apart. */
void lt_columns_unpack(const lt_columns_source *from, int32_t *to, int32_t count, int32_t next);

/* Unpack `count` >= 1 pairs of words of weights, `from_next` bytes apart, to four words each, `next` bytes
 * apart. Bits that are 0 in `mask` become 0 in all of them. */
void lt_columns_weights(int32_t *to, const int32_t *from, int32_t count, uint32_t mask, int32_t from_next,
                        int32_t next);

/* A window: the offsets of its words and of the weights to multiply them with, and their size, in bytes. */
typedef struct {
    int32_t x, w, size;
} lt_columns_window;

/* Four channels of the windows up to `end`. There is at least one window. */
typedef struct {
    const lt_columns_window *windows, *end;
    const int32_t *biases, *scales;
    int32_t odd; /* the params' centre; not used for any factors */
    int8_t *out;
    int32_t pitch;       /* distance from a result to that of the next window */
    const int32_t *base; /* the weights, then the words; offsets are from here */
} lt_columns_sums;

void lt_columns_sum(const lt_columns_sums *of);
void lt_columns_sum_any(const lt_columns_sums *of);

/* Groups of four channels of one window of one column, up to the channels at byte `last` of the rows. */
typedef struct {
    const int32_t *records;
    intptr_t at; /* offset in the rows of the first group */
    const void *const *rows;
    const void *const *end;
    int32_t before, after; /* bytes of weights of rows of padding */
    intptr_t last;
    int32_t base, odd;
    int8_t *out;
} lt_columns_taps;

/* Make these groups. Return the records that follow. */
const int32_t *lt_columns_tap(const lt_columns_taps *of);
const int32_t *lt_columns_tap_any(const lt_columns_taps *of);

#endif
