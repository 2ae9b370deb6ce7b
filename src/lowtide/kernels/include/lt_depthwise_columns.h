/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_columns.h: DEPTHWISE_CONV_2D, int8, windows of any size, for cores with Arm's DSP extension.
 *
 * A quicker form of lt_depthwise_mult1.h, for programs that are made for such a core; its conditions, and:
 * at least four channels, which are made four at a time. The last four may be made in part twice.
 *
 * Windows of one column are summed from where the rows are. Of others, the columns that are there are
 * first unpacked to pairs of halves, of x - input_zero: for each column and each pair of rows of the
 * window, four words, of channels 0, 2, 1 and 3; the row further up is the low half. So are the weights,
 * and a result is the sum of two runs of words. Of a window that is dilated along the row, columns that
 * are read together are put together.
 *
 * A record, of four channels: 4 biases; weights; 4 multipliers; a word of 4 shifts of 0 to 22, the first
 * as low byte: a factor is multiplier * 2^(-32 - shift). Weights are bytes, the lowest first; of windows of
 * one column a word for each row, of channels 0 to 3; of others [kernel_w][ceil(kernel_h / 2)][2] words,
 * of two rows a and b, b being 0 where there is none: a0 a2 b0 b2, and a1 a3 b1 b3.
 *
 * For any factors, conditions are those of lt_broad (lt_fixed.h), and behind the weights there are four words for
 * each channel: its multiplier; by how much sums are shifted left beforehand, 1 to 8, as low byte, and above it
 * by how much results are shifted right; the centre; and -1 where results are shifted right, else 0.
 */
#ifndef LT_DEPTHWISE_COLUMNS_H
#define LT_DEPTHWISE_COLUMNS_H

#include "lowtide.h"
#include "lt_depthwise_mult1.h" /* the lean forms are those of lt_depthwise_mult1.h */

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding: only the first ones, or
 *   the last ones.
 * step->out[0]: a row of out_w * channels bytes; overlaps no input row.
 * step->scratch: nothing if kernel_w is 1, else for each of `piece` outputs 12 bytes, and 16 * ceil(kernel_h
 *   / 2) for each column of the kernel and for each of the input's that these outputs read, which are
 *   (piece - 1) * stride_w + (kernel_w - 1) * dilation_w + 1, or in_w if that is less, rounded up to a
 *   multiple of dilation_w; aligned to 4.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels / 4)]: of the last four channels at the end */
    uint16_t in_w, out_w, channels;
    uint16_t piece; /* the columns of output that are made at a time */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t centre; /* 2 * (the output's zero point) + 1 */
    int8_t input_zero;
    int8_t low, high; /* the fused activation's range */
} lt_depthwise_columns_s8;

void lt_depthwise_columns_s8_row(const void *params, const lt_step *step);

/* The same of any factors. */
void lt_depthwise_columns_s8_any(const void *params, const lt_step *step);

/* The parts of it that are in assembly where there is a DSP extension. */

/* Where four channels of a pair of rows are: in one, and `other` bytes further, pixels `pitch` bytes apart.
 * `base` is -input_zero in both halves. */
typedef struct {
    const int8_t *row;
    intptr_t other;
    int32_t pitch, base;
} lt_columns_source;

/* Unpack `count` >= 1 columns, `next` bytes apart. */
void lt_columns_unpack(const lt_columns_source *from, int32_t *to, int32_t count, int32_t next);

/* Unpack `count` >= 1 pairs of words of weights, `from_next` bytes apart, to four words each, `next` bytes
 * apart; what is 0 in `mask` is 0 in all of them. */
void lt_columns_weights(int32_t *to, const int32_t *from, int32_t count, uint32_t mask, int32_t from_next,
                        int32_t next);

/* A window: where its words and the weights that they meet are, and their size, in bytes. */
typedef struct {
    int32_t x, w, size;
} lt_columns_window;

/* Four channels of the windows up to `end`, of which there is one at least. */
typedef struct {
    const lt_columns_window *windows, *end;
    const int32_t *biases, *scales;
    int32_t odd; /* centre; of any factors not used */
    int8_t *out;
    int32_t pitch;       /* from a result to the next window's */
    const int32_t *base; /* weights, then words */
} lt_columns_sums;

void lt_columns_sum(const lt_columns_sums *of);
void lt_columns_sum_any(const lt_columns_sums *of);

/* Fours of channels of one window of one column, up to where channels are `last` bytes into the rows. */
typedef struct {
    const int32_t *records;
    intptr_t at; /* of the first of them */
    const void *const *rows;
    const void *const *end;
    int32_t before, after; /* bytes of weights that are padding's */
    intptr_t last;
    int32_t base, odd;
    int8_t *out;
} lt_columns_taps;

/* Returns the records that follow. */
const int32_t *lt_columns_tap(const lt_columns_taps *of);
const int32_t *lt_columns_tap_any(const lt_columns_taps *of);

#endif
