/* SPDX-License-Identifier: Apache-2.0 */
/* lt_block_vector.c: see lt_block_vector.h. */
#include "lt_block_vector.h"

#include <stddef.h>

static void expand(const lt_block *b, int32_t from, int32_t columns, const lt_step *step)
{
    (void)from; /* it reads nothing beyond its columns */
    lt_conv_vector_s8 part = *((const lt_block_vector_s8 *)b->params)->expand;
    part.out_w = (uint16_t)columns;
    lt_conv_vector_s8_row(&part, step);
}

static void project(const lt_block *b, int32_t columns, const lt_step *step)
{
    lt_conv_vector_s8 part = *((const lt_block_vector_s8 *)b->params)->project;
    part.out_w = (uint16_t)columns;
    lt_conv_vector_s8_row(&part, step);
}

LT_SHARED void lt_block_vector_planes(const lt_block *b, int32_t columns, int32_t pad_left,
                                      int32_t in_w, const lt_step *step)
{
    lt_depthwise_planes_s8 part = *((const lt_block_vector_s8 *)b->params)->planes;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    lt_depthwise_planes_s8_row(&part, step);
}

LT_SHARED void lt_block_vector_depthwise(const lt_block *b, int32_t columns, int32_t pad_left,
                                         int32_t in_w, const lt_step *step)
{
    lt_depthwise_vector_s8 part = *((const lt_block_vector_s8 *)b->params)->depthwise;
    part.out_w = (uint16_t)columns;
    part.pad_left = (int16_t)pad_left;
    part.in_w = (uint16_t)in_w;
    lt_depthwise_vector_s8_row(&part, step);
}

LT_SHARED lt_block lt_block_vector_s8_of(const void *params)
{
    const lt_block_vector_s8 *p = params;
    const lt_depthwise_vector_s8 *core = p->depthwise;
    int32_t channels = (core != NULL) ? core->channels : p->planes->channels;
    lt_block of = {p,
                   expand,
                   (p->project != NULL) ? project : NULL,
                   p->core,
                   LT_BLOCK_SHAPE(p),
                   (core != NULL) ? core->stride_w : p->planes->stride_w,
                   (core != NULL) ? core->kernel_h : p->planes->kernel_h,
                   (core != NULL) ? core->kernel_w : p->planes->kernel_w,
                   channels,
                   (p->expand != NULL) ? p->expand->in_c : channels,
                   (p->project != NULL) ? p->project->out_c : channels,
                   0,
                   NULL};
    return of;
}

LT_SHARED void lt_block_vector_s8_row(const void *params, const lt_step *step)
{
    lt_block of = lt_block_vector_s8_of(params);
    lt_block_run(&of, step);
}

LT_SHARED void lt_separable_vector_s8_row(const void *params, const lt_step *step)
{
    lt_block of = lt_block_vector_s8_of(params);
    lt_separable_run(&of, step);
}
