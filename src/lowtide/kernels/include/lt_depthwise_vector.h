/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_vector.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel, for cores with
 * Arm's Helium.
 *
 * A quicker form of lt_depthwise_mult1.h, for programs that are made for such a core, without scratch memory; its
 * conditions, and: at least 4 channels. Windows of 3 x 3, or of 5 or 7 columns, are made two at once where no column
 * of them is padding (of the last two one may be made again), if there is no dilation along a row, the stride along
 * it is 1 or 2, and they have at most LT_TAPS_ROWS rows; all others one by one.
 *
 * A record is what four channels need: weights, int8 [kernel_h][kernel_w][4]; four biases, with the
 * input's zero point folded in; four multipliers; then four times -1 - shift: a factor is
 * multiplier * 2^(-32 - shift). The last record is of the last four channels, of which some may be in the one
 * before it.
 */
#ifndef LT_DEPTHWISE_VECTOR_H
#define LT_DEPTHWISE_VECTOR_H

#include "lowtide.h"

#define LT_TAPS_ROWS 7

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes; overlaps no input row. No scratch.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels / 4)][kernel_h * kernel_w + 12]: see above */
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* the fused activation's range */
} lt_depthwise_vector_s8;

/* If channels are a multiple of 4, and if they are not. */
void lt_depthwise_vector_s8_row(const void *params, const lt_step *step);
void lt_depthwise_vector_s8_rest(const void *params, const lt_step *step);

/* The same with any factors, as for lt_broad: all windows one by one. */
void lt_depthwise_vector_s8_any(const void *params, const lt_step *step);

/* The parts of it that have another form where there is Helium. */

/* Some fours of channels of two pixels, whose windows are `stride` columns apart. Of the columns that
 * they read those before `from` and from `to` on are padding, and so are rows that are null. */
typedef struct {
    const int8_t *rows[LT_TAPS_ROWS]; /* column `from` of each */
    const int32_t *records;
    int8_t *out;   /* of the first pixel, which is written after the second */
    int32_t pitch; /* from a column to the next one */
    int32_t other; /* how far the output of the second pixel is; 0: there is none */
    int32_t groups;
    int32_t zero, low, high; /* the output's zero point and range */
    int32_t padding;         /* the input's zero point */
    int32_t kernel_h, kernel_w, stride;
    int32_t from, to;
    int32_t again; /* the first pixel is there already; it may be made again */
} lt_taps;

/* 3 x 3, stride 1 or 2: no column is padding, or the first one, or the last one; the middle row is none. */
void lt_taps_1(const lt_taps *of);
void lt_taps_1_first(const lt_taps *of);
void lt_taps_1_last(const lt_taps *of);
void lt_taps_2(const lt_taps *of);
void lt_taps_2_first(const lt_taps *of);
void lt_taps_2_last(const lt_taps *of);

/* All channels of a pixel whose window is one column. */
typedef struct {
    const void *const *rows; /* kernel_h of them, null where they are padding */
    const int32_t *records;
    int8_t *out;
    int32_t offset; /* where in rows the column is */
    int32_t groups;
    int32_t zero, low, high; /* the output's zero point and range */
    int32_t padding;         /* the input's zero point */
    int32_t kernel_h;
    int32_t inside; /* 0: the column is padding */
} lt_tall;

void lt_taps_tall(const lt_tall *of);

/* 5 or 7 columns, none of which is padding. */
void lt_taps_wide(const lt_taps *of);

/* All channels of a pixel, at least 4. Of a row of its window some columns come `before` those that are there, which
 * are `inside` of it, and others `after` them: these are padding. */
typedef struct {
    const void *const *rows; /* kernel_h of them, null where they are padding */
    const int32_t *records;
    int8_t *out;
    int32_t offset; /* where in rows the first column is that is there */
    int32_t next;   /* from a column to the next one */
    int32_t channels;
    int32_t kernel_h;
    int32_t before, inside, after;
    int32_t padding;         /* the input's zero point */
    int32_t zero, low, high; /* the output's zero point and range */
} lt_one;

void lt_taps_one(const lt_one *of);
void lt_taps_one_any(const lt_one *of);

#endif
