/* SPDX-License-Identifier: Apache-2.0 */
/* lt_move.h: copies parts of rows, and joins, splits and pads rows; elements of any type.
 *
 * For SLICE, STRIDED_SLICE, CONCATENATION, PACK, SPLIT, SPLIT_V, UNPACK, PAD, PADV2 and the copies that a
 * RESHAPE between an input and an output needs. A row consists of runs of consecutive bytes. All offsets and
 * sizes are in bytes. No kernel here uses scratch memory, and no output row may overlap an input row. One
 * exception: lt_copy_row can get the same row as input and output, if it copies all of it.
 *
 * Source: tensorflow/lite/kernels/internal/reference/concatenation.h, strided_slice.h and pad.h,
 * tensorflow/lite/micro/kernels/split.cc, pack.cc and unpack.cc.
 */
#ifndef LT_MOVE_H
#define LT_MOVE_H

#include "lowtide.h"

/* Copies runs of one row.
 *
 * step->in[0]: a row. Run i starts at from + i * pitch (pitch can be negative).
 * step->out[0]: a row of runs * bytes bytes, the runs one after the other.
 */
typedef struct {
    int32_t from;
    int32_t pitch;
    int32_t bytes;
    int32_t runs;
} lt_copy;

void lt_copy_row(const void *params, const lt_step *step);

/* Joins several parts to one whole row, or splits it. At each of `runs` positions, it has a run of each part.
 *
 * lt_concat_row: step->in has `count` rows; row i has runs * bytes[i] bytes. step->out[0] is the whole
 *   row, of runs * (the sum of all bytes[i]) bytes.
 * lt_split_row: the other way round. step->in[0] is the whole row, and step->out has the `count` rows.
 */
typedef struct {
    const int32_t *bytes; /* [count]: bytes of a run of each part */
    int32_t runs;
    int32_t count;
} lt_join;

void lt_concat_row(const void *params, const lt_step *step);
void lt_split_row(const void *params, const lt_step *step);

/* Surrounds the runs of one row with a value.
 *
 * step->in[0]: a row of runs * bytes bytes; null for a row that is all padding.
 * step->out[0]: a row of before + runs * bytes + (runs - 1) * between + after bytes: `before` bytes of
 *   padding, the runs with `between` bytes of padding from one to the next, `after` bytes of padding.
 */
typedef struct {
    const uint8_t *value; /* [size]: the element to pad with; all byte counts are multiples of `size` */
    int32_t size; /* bytes of an element */
    int32_t runs;
    int32_t bytes;
    int32_t before;
    int32_t between;
    int32_t after;
} lt_pad;

void lt_pad_row(const void *params, const lt_step *step);

#endif
