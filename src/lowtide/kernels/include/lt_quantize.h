/* SPDX-License-Identifier: Apache-2.0 */
/* lt_quantize.h: QUANTIZE and DEQUANTIZE. (From 8 bits to 8, QUANTIZE is a table: lt_lut.h.)
 *
 * Sources, in tensorflow/lite/kernels/internal/reference: quantize.h, requantize.h, dequantize.h.
 * step->in[0], step->out[0]: rows of `count` elements. They can be the same memory only if their types have
 * the same width. No scratch memory.
 */
#ifndef LT_QUANTIZE_H
#define LT_QUANTIZE_H

#include "lowtide.h"

/* Floats to integers: round(x / scale) + zero, halves away from zero, saturated. (The reference defines no
 * result for values that int32 cannot hold. Here, they also saturate, and NaN gives the least value.) */
typedef struct {
    uint32_t count;
    float scale;
    int32_t zero;
} lt_quantize;

void lt_quantize_s8_row(const void *params, const lt_step *step);
void lt_quantize_u8_row(const void *params, const lt_step *step);
void lt_quantize_s16_row(const void *params, const lt_step *step);

/* Integers to floats: (x - zero) * scale. */
void lt_dequantize_s8_row(const void *params, const lt_step *step);
void lt_dequantize_u8_row(const void *params, const lt_step *step);
void lt_dequantize_s16_row(const void *params, const lt_step *step);

/* Integers to integers: (x - input_zero) * factor + output_zero, saturated. Results of type int32 wrap. */
typedef struct {
    uint32_t count;
    int32_t multiplier; /* the factor: see lt_fixed.h */
    int8_t shift;
    int16_t input_zero, output_zero;
} lt_requantize;

void lt_requantize_s8_s16_row(const void *params, const lt_step *step);
void lt_requantize_s16_s8_row(const void *params, const lt_step *step);
void lt_requantize_s16_s16_row(const void *params, const lt_step *step);
void lt_requantize_s8_s32_row(const void *params, const lt_step *step);
void lt_requantize_s16_s32_row(const void *params, const lt_step *step);
void lt_requantize_s32_s8_row(const void *params, const lt_step *step);
void lt_requantize_s32_s16_row(const void *params, const lt_step *step);
void lt_requantize_s32_s32_row(const void *params, const lt_step *step);
void lt_requantize_u8_s16_row(const void *params, const lt_step *step);
void lt_requantize_s16_u8_row(const void *params, const lt_step *step);
void lt_requantize_u8_s32_row(const void *params, const lt_step *step);
void lt_requantize_s32_u8_row(const void *params, const lt_step *step);

#endif
