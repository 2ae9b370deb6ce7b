/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_lanes.h: CONV_2D and FULLY_CONNECTED, int16 activations, int8 weights, one group, for cores with
 * Arm's Helium.
 *
 * A faster form of lt_conv_s16.h, without scratch memory, for programs compiled for such a core. It makes
 * four channels of one pixel at once, with eight products per instruction, and reads pixels in place. The
 * numbers of products and channels can be any, because lanes beyond the last one do nothing. Padding is 0 in
 * the reference, so it is left out.
 *
 * The kernel makes and scales sums in the ways of lt_conv_2x2.h. If `shift` is null, sums fit 32 bits, also
 * when shifted left by `left`. They are shifted before lt_high_s16 multiplies them.
 */
#ifndef LT_CONV_LANES_H
#define LT_CONV_LANES_H

#include "lowtide.h"

/* One output row.
 *
 * step->in: kernel_h rows of in_w * in_c int16, null where the row is padding.
 * step->out[0]: a row of out_w * out_c int16. It must not overlap an input row.
 * step->scratch: not used.
 */
typedef struct {
    const int8_t *weights; /* [out_c][kernel_h][kernel_w][in_c] */
    const int64_t *bias;   /* [out_c], or null */
    const int32_t *start;  /* [out_c], but at least 4 elements; null if bias is not null */
    const int32_t *factor; /* [out_c], but at least 4 elements; if shift is not null, [out_c] multipliers */
    const int8_t *shift;   /* [out_c], at most 14 if bias is not null; or null */
    uint16_t in_w, in_c;
    uint16_t out_w, out_c;
    uint16_t kernel_h, kernel_w;
    uint16_t stride_w, dilation_w;
    int16_t pad_left;
    int16_t output_zero;
    int16_t low, high; /* range of the fused activation */
    uint8_t left;      /* left shift of sums, 0 to 15 */
} lt_conv_lanes_s16;

void lt_conv_lanes_s16_row(const void *params, const lt_step *step);

/* Parts of the kernel that use vectors on cores with Helium. */

/* Some products of four channels: n > 0 of each row of the window that is not null, from byte `offset` on. */
typedef struct {
    const int8_t *w;  /* weights of the first channel, from the first product on */
    int32_t three;    /* distance from them to the weights of the fourth channel */
    int32_t one, two; /* distances to those of the second and of the third channel */
    const void *const *rows;
    int32_t line; /* distance to the weights of the next row */
    int32_t kernel_h, offset, n;
    int32_t sums[4]; /* the products are added to these; they wrap */
} lt_lanes;

void lt_lanes_add(lt_lanes *of);

/* Scale and store channels c to c + 3, or up to the last channel. `shift` must be null. */
void lt_lanes_put(const lt_conv_lanes_s16 *p, const int32_t *sums, int32_t c, int16_t *out);

#endif
