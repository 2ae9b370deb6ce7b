/* lt_depthwise_lanes.h: DEPTHWISE_CONV_2D, int8, one output channel per input channel, for cores with
 * Arm's Helium.
 *
 * A quicker form of lt_depthwise_quick.h, for programs that are made for such a core; its conditions,
 * and: a multiple of 4 channels, no dilation along a row, stride 1 or 2 along it, at most LT_TAPS_ROWS
 * rows. Four channels times two pixels at once; where a window has padding, or is the only one left, it
 * is first copied to a patch, some channels at a time.
 *
 * A record is what four channels need: weights, int8 [kernel_h][kernel_w][4]; four biases, with the
 * input's zero point folded in; four multipliers; then four times -1 - shift: a factor is
 * multiplier * 2^(-32 - shift).
 */
#ifndef LT_DEPTHWISE_LANES_H
#define LT_DEPTHWISE_LANES_H

#include "lowtide.h"

#define LT_TAPS_ROWS 7

/* One output row.
 *
 * step->in: kernel_h rows of in_w * channels bytes, null where the row is padding.
 * step->out[0]: a row of out_w * channels bytes; overlaps no input row.
 * step->scratch: kernel_h * (kernel_w + stride_w) * patch bytes, aligned to 4.
 */
typedef struct {
    const int32_t *records; /* [channels / 4][kernel_h * kernel_w + 12]: see above */
    uint16_t in_w, out_w, channels;
    uint16_t patch; /* the channels of a patch: a multiple of 4 */
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w;
    int16_t pad_left;
    int8_t input_zero, output_zero;
    int8_t low, high; /* the fused activation's range */
} lt_depthwise_lanes_s8;

void lt_depthwise_lanes_s8_row(const void *params, const lt_step *step);

/* The parts of it that have another form where there is Helium. */

/* Some fours of channels of two pixels, whose windows are `stride` columns apart. */
typedef struct {
    const int8_t *rows[LT_TAPS_ROWS]; /* of the first window */
    const int32_t *records;
    int8_t *out;   /* of the first pixel, which is written after the second */
    int32_t pitch; /* from a column to the next one */
    int32_t other; /* how far the output of the second pixel is */
    int32_t groups;
    int32_t zero, low, high;
    int32_t kernel_h, kernel_w, stride;
} lt_taps;

void lt_taps_3_1(const lt_taps *of); /* 3 x 3, stride 1 */
void lt_taps_3_2(const lt_taps *of); /* 3 x 3, stride 2 */
void lt_taps_any(const lt_taps *of);

/* Copy n > 0 bytes, a multiple of 4; set them to a value. */
void lt_taps_copy(int8_t *to, const int8_t *from, int32_t n);
void lt_taps_fill(int8_t *to, int32_t value, int32_t n);

#endif
