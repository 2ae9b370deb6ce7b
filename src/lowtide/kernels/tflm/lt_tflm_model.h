/* SPDX-License-Identifier: Apache-2.0 */
/* lt_tflm_model.h: a compiled network as a constant that lt_tflm.h can run, and the plain types of
 * TensorFlow Lite Micro's (TFLM's) interface, which are C.
 *
 * It is written from the names and the behaviour of that interface, and contains no code of TFLM.
 */
#ifndef LT_TFLM_MODEL_H
#define LT_TFLM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the current file format, and of every network that can run (Model::version()). */
#define TFLITE_SCHEMA_VERSION (3)

typedef enum {
    kTfLiteOk = 0,
    kTfLiteError = 1,
    kTfLiteDelegateError = 2,
    kTfLiteApplicationError = 3
} TfLiteStatus;

typedef enum {
    kTfLiteNoType = 0,
    kTfLiteFloat32 = 1,
    kTfLiteInt32 = 2,
    kTfLiteUInt8 = 3,
    kTfLiteInt64 = 4,
    kTfLiteString = 5,
    kTfLiteBool = 6,
    kTfLiteInt16 = 7,
    kTfLiteComplex64 = 8,
    kTfLiteInt8 = 9,
    kTfLiteFloat16 = 10,
    kTfLiteFloat64 = 11,
    kTfLiteComplex128 = 12,
    kTfLiteUInt64 = 13,
    kTfLiteResource = 14,
    kTfLiteVariant = 15,
    kTfLiteUInt32 = 16,
    kTfLiteUInt16 = 17,
    kTfLiteInt4 = 18
} TfLiteType;

/* real = scale * (value - zero_point); scale 0 where a tensor has none, or one for each channel. */
typedef struct {
    float scale;
    int32_t zero_point;
} TfLiteQuantizationParams;

#define LT_TFLM_RANK 8
/* A shape: `size` dimensions. Room for more than there are, so that it is a constant in C++ as well. */
typedef struct {
    int size;
    int data[LT_TFLM_RANK];
} TfLiteIntArray;

typedef union {
    void *data;
    char *raw;
    const char *raw_const;
    int8_t *int8;
    uint8_t *uint8;
    bool *b;
    int16_t *i16;
    uint16_t *ui16;
    int32_t *i32;
    uint32_t *u32;
    int64_t *i64;
    uint64_t *u64;
    float *f;
    double *f64;
} TfLitePtrUnion;

/* An input or output. Its memory is the network's, and stays where it is. */
typedef struct TfLiteTensor {
    TfLitePtrUnion data;
    TfLiteIntArray *dims; /* to be read: it is in flash */
    size_t bytes;
    TfLiteType type;
    TfLiteQuantizationParams params;
    bool is_variable;
} TfLiteTensor;

/* What is constant of one. */
typedef struct {
    TfLiteType type;
    size_t bytes;
    TfLiteQuantizationParams params;
    TfLiteIntArray dims;
} lt_tflm_tensor;

/* With these bytes a network begins; no .tflite does, in which the fifth to eighth are "TFL3". */
#define LT_TFLM_MAGIC "lowtide"

/* A network. It stands where firmware has the bytes of a .tflite, and is called through them. */
typedef struct lt_tflm_model {
    char magic[8];
    const char *name;
    size_t arena_size, arena_align, state_size, state_align, instance_size;
    size_t inputs, outputs;
    bool preserves_inputs; /* no run changes them */
    const lt_tflm_tensor *tensors; /* the inputs, then the outputs */
    /* The functions of NAME.h, of an instance `m`. */
    int (*init)(void *m, void *arena, size_t size, void *state, size_t state_size);
    int (*reset)(void *m);
    int (*invoke)(void *m);
    void *(*input)(void *m, int i);
    const void *(*output)(const void *m, int i);
#ifdef __cplusplus
    uint32_t version() const { return magic[0] == LT_TFLM_MAGIC[0] ? TFLITE_SCHEMA_VERSION : 0; }
#endif
} lt_tflm_model;

#ifdef __cplusplus
}
#endif

#endif
