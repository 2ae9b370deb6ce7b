/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_vector.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel, for cores with
 * Arm's Helium.
 *
 * A faster form of lt_depthwise_mult1.h, without scratch memory, for programs compiled for such a core. It
 * has the same conditions, and at least 4 channels. It makes two windows at once if they are 3 x 3 or have 5
 * or 7 columns, no column is padding, the dilation along a row is 1, the stride along it is 1 or 2, and there
 * are at most LT_TAPS_ROWS rows. (It can make one of the last two again.) It makes other windows one by one.
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
 * step->out[0]: a row of out_w * channels bytes. It must not overlap an input row. No scratch memory.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels / 4)][kernel_h * kernel_w + 12]: see above */
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* range of the fused activation */
} lt_depthwise_vector_s8;

/* _row is for a multiple of 4 channels, _rest for all other numbers of channels. */
void lt_depthwise_vector_s8_row(const void *params, const lt_step *step);
void lt_depthwise_vector_s8_rest(const void *params, const lt_step *step);

/* The same for any factors, as for lt_broad. This form makes all windows one by one. */
void lt_depthwise_vector_s8_any(const void *params, const lt_step *step);

/* Parts of the kernel that have another form for cores with Helium. */

/* Some groups of four channels of two pixels, whose windows are `stride` columns apart. Of the columns that
 * they read, those before `from`, and `to` and those after it, are padding. So are null rows. */
typedef struct {
    const int8_t *rows[LT_TAPS_ROWS]; /* column `from` of each */
    const int32_t *records;
    int8_t *out;   /* output of the first pixel, which is written after the second */
    int32_t pitch; /* distance from a column to the next one */
    int32_t other; /* distance to the output of the second pixel; 0 if there is none */
    int32_t groups; /* groups of four channels */
    int32_t zero, low, high; /* the output's zero point and range */
    int32_t padding;         /* the input's zero point */
    int32_t kernel_h, kernel_w, stride;
    int32_t from, to;
    int32_t again; /* 1 if the first pixel is made already; making it again is allowed */
} lt_taps;

/* 3 x 3, stride 1 or 2: no column, the first or the last column is padding. The middle row is not padding. */
void lt_taps_1(const lt_taps *of);
void lt_taps_1_first(const lt_taps *of);
void lt_taps_1_last(const lt_taps *of);
void lt_taps_2(const lt_taps *of);
void lt_taps_2_first(const lt_taps *of);
void lt_taps_2_last(const lt_taps *of);

/* All channels of a pixel whose window is one column. */
typedef struct {
    const void *const *rows; /* kernel_h rows, null where they are padding */
    const int32_t *records;
    int8_t *out;
    int32_t offset; /* offset of the column in the rows */
    int32_t groups; /* groups of four channels */
    int32_t zero, low, high; /* the output's zero point and range */
    int32_t padding;         /* the input's zero point */
    int32_t kernel_h;
    int32_t inside; /* 0: the column is padding */
} lt_tall;

void lt_taps_tall(const lt_tall *of);

/* Windows of 5 or 7 columns, none of which is padding. */
void lt_taps_wide(const lt_taps *of);

/* All channels of a pixel, at least 4. In each row of its window, `before` columns are padding, then `inside`
 * columns are not, then `after` columns are padding. */
typedef struct {
    const void *const *rows; /* kernel_h rows, null where they are padding */
    const int32_t *records;
    int8_t *out;
    int32_t offset; /* offset in the rows of the first column that is not padding */
    int32_t next;   /* distance from a column to the next one */
    int32_t channels;
    int32_t kernel_h;
    int32_t before, inside, after;
    int32_t padding;         /* the input's zero point */
    int32_t zero, low, high; /* the output's zero point and range */
} lt_one;

void lt_taps_one(const lt_one *of);
void lt_taps_one_any(const lt_one *of);

#endif
