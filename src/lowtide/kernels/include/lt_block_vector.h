/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block_vector.h: blocks as in lt_block.h, for cores with Arm's Helium.
 *
 * Pointwise convolutions by sixteens of products, and the depthwise one by planes of channels, or by
 * fours of channels without scratch memory.
 */
#ifndef LT_BLOCK_VECTOR_H
#define LT_BLOCK_VECTOR_H

#include "lowtide.h"
#include "lt_block.h"
#include "lt_conv_vector.h"
#include "lt_depthwise_planes.h"
#include "lt_depthwise_vector.h"

/* step is as for lt_block_s8_row, or for lt_separable_s8_row. */
typedef struct {
    const lt_conv_vector_s8 *expand;         /* null for lt_separable_vector_s8_row */
    const lt_depthwise_planes_s8 *planes;    /* null: it is `depthwise` */
    const lt_depthwise_vector_s8 *depthwise; /* null: it is by planes */
    const lt_conv_vector_s8 *project;        /* null: there is none */
    uint16_t in_h, in_w;                     /* of the input; what is outside of it is padding */
    uint16_t out_w, piece;
    uint16_t kept;
    int16_t ahead, pad_top, pad_left;
    uint8_t stride_h;
} lt_block_vector_s8;

void lt_block_vector_s8_row(const void *params, const lt_step *step);
void lt_separable_vector_s8_row(const void *params, const lt_step *step);

/* The block of such params. */
lt_block lt_block_vector_s8_of(const void *params);

#endif
