/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_planes.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel, for cores with
 * Arm's Helium.
 *
 * A faster form of lt_depthwise_vector.h that needs scratch memory. For four channels at a time, it copies
 * the columns that some pixels read to planes, one per channel. In a plane, a window is contiguous, so one
 * instruction multiplies and adds up to sixteen taps. Factors are below 1/2, as for lt_narrow (lt_fixed.h);
 * _any takes any, as for lt_broad. There are at most LT_PLANES_TAPS taps. The last four channels can repeat
 * some. If there are fewer than four channels, the missing ones have weights of 0.
 *
 * With dilation along the row, pixels that are `apart` columns from each other read from the same columns of
 * the input, one in dilation_w. The kernel makes these pixels together, as if there were no others.
 *
 * A record has the data of four channels: weights, int8 [4][kernel_w][kernel_h]; four biases, with the
 * input's zero point folded in; four multipliers; then four exponents: a factor is
 * multiplier * 2^(exponent - 31). The last record has the last four channels.
 */
#ifndef LT_DEPTHWISE_PLANES_H
#define LT_DEPTHWISE_PLANES_H

#include "lowtide.h"

#define LT_PLANES_TAPS 64

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes. It must not overlap an input row.
 * step->scratch: 4 planes of kernel_h * ((P - 1) * S + kernel_w) bytes, at most 255 each, where P is the
 *   lesser of piece and ceil(out_w / apart), and S is stride_w * apart / dilation_w; then 16 bytes, which the
 *   kernel reads but ignores.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels / 4)][kernel_h * kernel_w + 12]: see above */
    uint16_t piece;         /* pixels to make at a time */
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    uint16_t apart; /* dilation_w / gcd(stride_w, dilation_w) */
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* range of the fused activation */
} lt_depthwise_planes_s8;

void lt_depthwise_planes_s8_row(const void *params, const lt_step *step);

/* Like lt_depthwise_planes_s8_row, for any factors: exponents can be 0 and more. */
void lt_depthwise_planes_s8_any(const void *params, const lt_step *step);

/* Parts of the kernel that have another form for cores with Helium. */

/* All channels of some pixels. */
typedef struct {
    int8_t *planes;
    int32_t plane; /* bytes of a plane */
    const int32_t *record;
    int8_t *out;     /* output of the first pixel */
    int32_t pitch;   /* distance from a pixel's output to the next one's */
    int32_t zero;    /* the output's zero point */
    int32_t advance; /* distance from a window to the next one in a plane */
    int32_t pixels;
    int32_t taps;
    int32_t channels;
    const void *const *rows; /* kernel_h rows, null where they are padding */
    int32_t kernel_h;
    int32_t offset;  /* offset in the rows of the first column that is not padding */
    int32_t from;    /* the number of this column in the planes */
    int32_t columns; /* the number of columns that are not padding */
    int32_t next;    /* distance from one of them to the next */
} lt_planes;

/* Change `record` and `out`. The planes already hold the padding, and keep it. */
void lt_planes_run(lt_planes *of);
void lt_planes_run_any(lt_planes *of);

/* Set n bytes to a value; clamp n > 0 bytes to a range. */
void lt_planes_fill(int8_t *to, int32_t value, int32_t n);
void lt_planes_clamp(int8_t *at, int32_t n, int32_t low, int32_t high);

#endif
