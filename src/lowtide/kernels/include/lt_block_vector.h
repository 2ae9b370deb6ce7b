/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block_vector.h: blocks as in lt_block.h, for cores with Arm's Helium.
 *
 * The pointwise convolutions are those of lt_conv_vector.h, the depthwise one that of lt_depthwise_planes.h
 * or of lt_depthwise_vector.h. The latter needs no scratch memory.
 */
#ifndef LT_BLOCK_VECTOR_H
#define LT_BLOCK_VECTOR_H

#include "lowtide.h"
#include "lt_block.h"
#include "lt_conv_vector.h"
#include "lt_depthwise_planes.h"
#include "lt_depthwise_vector.h"

/* `step` is as for lt_block_s8_row, or for lt_separable_s8_row. */
typedef struct {
    const lt_conv_vector_s8 *expand;         /* null for lt_separable_vector_s8_row */
    const lt_depthwise_planes_s8 *planes;    /* null if the depthwise convolution is `depthwise` */
    const lt_depthwise_vector_s8 *depthwise; /* null if the depthwise convolution is `planes` */
    const lt_conv_vector_s8 *project;        /* null if there is none */
    lt_block_core core;                      /* one of the functions below: programs link only those they name */
    uint16_t in_h, in_w;                     /* size of the input; everything outside of it is padding */
    uint16_t out_w, piece;
    uint16_t kept;
    int16_t ahead, pad_top, pad_left;
    uint8_t stride_h;
} lt_block_vector_s8;

void lt_block_vector_s8_row(const void *params, const lt_step *step);
void lt_separable_vector_s8_row(const void *params, const lt_step *step);

/* The depthwise convolution: `planes` or `depthwise`, by the kernel of its header. */
void lt_block_vector_planes(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                            const lt_step *step);
void lt_block_vector_depthwise(const lt_block *block, int32_t columns, int32_t pad_left, int32_t in_w,
                               const lt_step *step);

/* Returns the lt_block for params of type lt_block_vector_s8. */
lt_block lt_block_vector_s8_of(const void *params);

#endif
