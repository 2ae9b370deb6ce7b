/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_lanes.h: CONV_2D and FULLY_CONNECTED, int16 activations, int8 weights, one group, for cores with
 * Arm's Helium.
 *
 * A quicker form of lt_conv_s16.h, without scratch memory, for programs that are made for such a core: four
 * channels of one pixel at once, eight products an instruction, from where the pixels are. Of any number of
 * products and channels, since the lanes beyond the last one are left out. Padding is 0 in the reference, so it
 * is left out, too.
 *
 * Sums are made and scaled in the ways of lt_conv_2x2.h: where `shift` is null, they fit 32 bits also when
 * shifted left by `left`, and are so before lt_high_s16 multiplies them.
 */
#ifndef LT_CONV_LANES_H
#define LT_CONV_LANES_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * out_c int16; overlaps no input row.
 * step->scratch: unused.
 */
typedef struct {
    const int8_t *weights; /* [out_c][kernel_h][kernel_w][in_c] */
    const int64_t *bias;   /* [out_c], or null */
    const int32_t *start;  /* [out_c], at least 4; null if bias is not */
    const int32_t *factor; /* [out_c], at least 4; the multipliers, [out_c], if shift is not null */
    const int8_t *shift;   /* [out_c], at most 14 with a bias; or null */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t output_zero;
    int16_t low, high; /* the fused activation's range */
    uint8_t left;      /* 0 to 15 */
} lt_conv_lanes_s16;

void lt_conv_lanes_s16_row(const void *params, const lt_step *step);

/* The parts of it that are in vectors where there is Helium. */

/* Some products of four channels: n > 0 of each row of the window that is not null, from `offset` bytes on. */
typedef struct {
    const int8_t *w;  /* the first channel's weights of the first product */
    int32_t three;    /* how far those of the fourth channel are */
    int32_t one, two; /* and those of the second and of the third */
    const void *const *rows;
    int32_t line; /* and those of the next row */
    int32_t kernel_h, offset, n;
    int32_t sums[4]; /* to which they are added, wrapping */
} lt_lanes;

void lt_lanes_add(lt_lanes *of);

/* Scale and put channels c to c + 3, or up to the last one, where `shift` is null. */
void lt_lanes_put(const lt_conv_lanes_s16 *p, const int32_t *sums, int32_t c, int16_t *out);

#endif
