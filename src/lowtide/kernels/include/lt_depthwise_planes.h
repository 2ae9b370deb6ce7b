/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_planes.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel, for cores with
 * Arm's Helium.
 *
 * A quicker form of lt_depthwise_vector.h that takes scratch memory: of four channels at a time the
 * columns that some pixels read are copied to planes, one per channel, in which a window is contiguous,
 * so that one instruction multiplies and adds up to sixteen taps. Factors are below 1/2, as for lt_narrow
 * (lt_fixed.h), or any, as for lt_broad; at most LT_PLANES_TAPS taps. The last four channels may make some of
 * them again; of fewer than four, those that are missing have weights of 0.
 *
 * With a dilation along the row, pixels that are `apart` columns from each other read the same columns of
 * the input, every dilation_w-th: they are made together, as if there were no others.
 *
 * A record is what four channels need: weights, int8 [4][kernel_w][kernel_h]; four biases, with the
 * input's zero point folded in; four multipliers; then four exponents: a factor is
 * multiplier * 2^(exponent - 31). The last record is of the last four channels.
 */
#ifndef LT_DEPTHWISE_PLANES_H
#define LT_DEPTHWISE_PLANES_H

#include "lowtide.h"

#define LT_PLANES_TAPS 64

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes; overlaps no input row.
 * step->scratch: 4 planes of kernel_h * ((P - 1) * S + kernel_w) bytes, P the lesser of piece and
 *   ceil(out_w / apart), S stride_w * apart / dilation_w; then 16 bytes that are read and do not matter. A
 *   plane is at most 255 bytes.
 */
typedef struct {
    const int32_t *records; /* [ceil(channels / 4)][kernel_h * kernel_w + 12]: see above */
    uint16_t piece;         /* pixels at a time */
    uint16_t in_w, out_w, channels;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    uint16_t apart; /* dilation_w / gcd(stride_w, dilation_w) */
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* the fused activation's range */
} lt_depthwise_planes_s8;

void lt_depthwise_planes_s8_row(const void *params, const lt_step *step);

/* The same with any factors: exponents may be 0 and more. */
void lt_depthwise_planes_s8_any(const void *params, const lt_step *step);

/* The parts of it that have another form where there is Helium. */

/* All channels of some pixels. */
typedef struct {
    int8_t *planes;
    int32_t plane; /* bytes of one */
    const int32_t *record;
    int8_t *out;     /* of the first pixel */
    int32_t pitch;   /* from a pixel to the next one */
    int32_t zero;    /* the output's zero point */
    int32_t advance; /* from a window to the next one in a plane */
    int32_t pixels;
    int32_t taps;
    int32_t channels;
    const void *const *rows; /* kernel_h of them, null where they are padding */
    int32_t kernel_h;
    int32_t offset;  /* where in rows the first column is that is no padding */
    int32_t from;    /* its number in the planes */
    int32_t columns; /* how many there are */
    int32_t next;    /* from one to the next */
} lt_planes;

/* Changes record and out; padding is in the planes, and stays there. */
void lt_planes_run(lt_planes *of);
void lt_planes_run_any(lt_planes *of);

/* Set n bytes to a value; bring n > 0 bytes into a range. */
void lt_planes_fill(int8_t *to, int32_t value, int32_t n);
void lt_planes_clamp(int8_t *at, int32_t n, int32_t low, int32_t high);

#endif
