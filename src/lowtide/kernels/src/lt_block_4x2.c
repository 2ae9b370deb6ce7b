/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block_4x2.c: see lt_block_4x2.h. */
#include "lt_block_4x2.h"

#include <stddef.h>

static void expand(const lt_block *b, int32_t from, int32_t columns, const lt_step *step)
{
    lt_conv_4x2_s8 part = *((const lt_block_4x2_s8 *)b->params)->expand;
    part.out_w = (uint16_t)columns;
    part.last = (int16_t)((part.last < from) ? -1 : (part.last - from)); /* the row's, as are its ends */
    part.in_w = (uint16_t)(part.in_w - from);
    lt_conv_4x2_s8_row(&part, step);
}

static void project(const lt_block *b, int32_t columns, const lt_step *step)
{
    const lt_block_4x2_s8 *p = b->params;
    lt_conv_4x2_s8 part = *p->project;
    part.out_w = (uint16_t)columns;
    if ((p->in_place != 0U) && ((columns & 1) != 0)) {
        part.direct = 0; /* the last pixel is copied, too, before it is written */
    }
    lt_conv_4x2_s8_row(&part, step);
}

LT_SHARED void lt_block_4x2_columns(const lt_block *b, int32_t columns, int32_t pad_left, int32_t in_w,
                                    const lt_step *step)
{
    lt_depthwise_3x3_s8 part = *((const lt_block_4x2_s8 *)b->params)->columns;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    lt_depthwise_3x3_s8_row(&part, step);
}

LT_SHARED void lt_block_4x2_depthwise(const lt_block *b, int32_t columns, int32_t pad_left,
                                      int32_t in_w, const lt_step *step)
{
    lt_depthwise_mult1_s8 part = *((const lt_block_4x2_s8 *)b->params)->depthwise;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    lt_depthwise_mult1_s8_row(&part, step);
}

LT_SHARED void lt_block_4x2_plain(const lt_block *b, int32_t columns, int32_t pad_left, int32_t in_w,
                                  const lt_step *step)
{
    lt_depthwise_mult1_s8 part = *((const lt_block_4x2_s8 *)b->params)->depthwise;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    lt_depthwise_mult1_s8_plain(&part, step);
}

LT_SHARED lt_block lt_block_4x2_s8_of(const void *params)
{
    const lt_block_4x2_s8 *p = params;
    const lt_depthwise_mult1_s8 *core = p->depthwise;
    int32_t channels = (core != NULL) ? core->channels : p->columns->channels;
    lt_block of = {p,
                   expand,
                   (p->project != NULL) ? project : NULL,
                   p->core,
                   LT_BLOCK_SHAPE(p),
                   (core != NULL) ? core->stride_w : p->columns->stride_w,
                   (core != NULL) ? core->kernel_h : p->columns->kernel_h,
                   (core != NULL) ? core->kernel_w : p->columns->kernel_w,
                   channels,
                   (p->expand != NULL) ? p->expand->in_c : channels,
                   (p->project != NULL) ? p->project->out_c : channels,
                   p->in_place,
                   NULL};
    return of;
}

LT_SHARED void lt_block_4x2_s8_row(const void *params, const lt_step *step)
{
    lt_block of = lt_block_4x2_s8_of(params);
    lt_block_run(&of, step);
}

LT_SHARED void lt_separable_4x2_s8_row(const void *params, const lt_step *step)
{
    lt_block of = lt_block_4x2_s8_of(params);
    lt_separable_run(&of, step);
}
