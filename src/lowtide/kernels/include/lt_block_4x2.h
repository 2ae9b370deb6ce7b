/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block_4x2.h: blocks as in lt_block.h, for cores with Arm's DSP extension.
 *
 * It uses lt_conv_4x2.h, and lt_depthwise_3x3.h or lt_depthwise_mult1.h. A pointwise convolution reads a pair
 * of pixels before it writes the results. If it is not direct, it does the same with a single pixel.
 */
#ifndef LT_BLOCK_4X2_H
#define LT_BLOCK_4X2_H

#include "lowtide.h"
#include "lt_block.h"
#include "lt_conv_4x2.h"
#include "lt_depthwise_3x3.h"
#include "lt_depthwise_mult1.h"

/* `step` is as for lt_block_s8_row, or for lt_separable_s8_row. */
typedef struct {
    const lt_conv_4x2_s8 *expand;         /* null for lt_separable_4x2_s8_row */
    const lt_depthwise_3x3_s8 *columns; /* null if the depthwise convolution is `depthwise` */
    const lt_depthwise_mult1_s8 *depthwise; /* null if the depthwise convolution is `columns` */
    const lt_conv_4x2_s8 *project;        /* null if there is none */
    lt_block_core core;                   /* one of the functions below: programs link only those they name */
    uint16_t in_h, in_w;                    /* size of the input; everything outside of it is padding */
    uint16_t out_w, piece;
    uint16_t kept;
    int16_t ahead, pad_top, pad_left;
    uint8_t stride_h;
    uint8_t in_place; /* see lt_block.h; then `project` is direct and not lean, and its in_c <= out_c */
} lt_block_4x2_s8;

void lt_block_4x2_s8_row(const void *params, const lt_step *step);
void lt_separable_4x2_s8_row(const void *params, const lt_step *step);

/* The depthwise convolution: `columns` or `depthwise`, by the kernel of its header, or `depthwise` in its
 * plain form. */
void lt_block_4x2_columns(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                          const lt_step *step);
void lt_block_4x2_depthwise(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                            const lt_step *step);
void lt_block_4x2_plain(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                        const lt_step *step);

/* Returns the lt_block for params of type lt_block_4x2_s8. */
lt_block lt_block_4x2_s8_of(const void *params);

#endif
