/* Runs a model on the host: main INPUTS OUTPUTS [TRACE].
 *
 * INPUTS holds the number of samples (native uint32_t), then each sample's inputs one after the other;
 * OUTPUTS gets each sample's outputs. The arena comes from the heap with exactly the size that the
 * model asks for, so that the address sanitizer sees every byte touched beyond it.
 *
 * Compiled with LT_TRACE, the model calls lt_trace after every row it makes, and TRACE gets a record
 * of each: int32_t sample, tensor, row, bytes, then the bytes.
 */
#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_model.h"

static const size_t input_bytes[] = HARNESS_INPUT_BYTES;
static const size_t output_bytes[] = HARNESS_OUTPUT_BYTES;

static int fail(const char *what, long number)
{
    fprintf(stderr, "lowtide: %s %ld\n", what, number);
    return 1;
}

#ifdef LT_TRACE
static FILE *trace;
static int32_t trace_sample;

void lt_trace(int tensor, int row, const void *data, int bytes);

void lt_trace(int tensor, int row, const void *data, int bytes)
{
    const int32_t head[4] = {trace_sample, (int32_t)tensor, (int32_t)row, (int32_t)bytes};
    if (fwrite(head, sizeof head, 1, trace) != 1 ||
        (bytes > 0 && fwrite(data, (size_t)bytes, 1, trace) != 1)) {
        abort();
    }
}
#endif

/* Where to write input i. What the model does not own comes from the heap, with its exact size; it
 * stays there until the process ends. */
static void *input_at(HARNESS_MODEL_TYPE *model, int i)
{
#ifdef HARNESS_SET_INPUT
    void *const input = malloc(input_bytes[i] > 0 ? input_bytes[i] : 1);
    return input != NULL && HARNESS_SET_INPUT(model, i, input) == 0 ? input : NULL;
#else
    return HARNESS_INPUT(model, i);
#endif
}

static int run_samples(HARNESS_MODEL_TYPE *model, FILE *inputs, FILE *outputs)
{
    uint32_t samples, n;
    if (fread(&samples, sizeof samples, 1, inputs) != 1) {
        return fail("notransfer", 6);
    }
    for (n = 0; n < samples; n++) {
        int i;
#ifdef LT_TRACE
        trace_sample = (int32_t)n;
#endif
        for (i = 0; i < HARNESS_INPUTS; i++) {
            void *const input = input_at(model, i);
            if (input == NULL || fread(input, 1, input_bytes[i], inputs) != input_bytes[i]) {
                return fail("notransfer", 6);
            }
        }
        const int status = HARNESS_INVOKE(model);
        if (status != 0) {
            return fail("invoke", status);
        }
        for (i = 0; i < HARNESS_OUTPUTS; i++) {
            const void *const output = HARNESS_OUTPUT(model, i);
            if (output == NULL || fwrite(output, 1, output_bytes[i], outputs) != output_bytes[i]) {
                return fail("notransfer", 5);
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static HARNESS_MODEL_TYPE model;
    void *arena = NULL;
    const size_t align = HARNESS_ARENA_ALIGN < sizeof(void *) ? sizeof(void *) : HARNESS_ARENA_ALIGN;
    if (argc < 3 || posix_memalign(&arena, align, HARNESS_ARENA_SIZE) != 0) {
        return fail("noarena", argc);
    }
    memset(arena, 0xA5, HARNESS_ARENA_SIZE); /* models must not rely on a zeroed arena */
    FILE *const inputs = fopen(argv[1], "rb");
    FILE *const outputs = fopen(argv[2], "wb");
    if (inputs == NULL || outputs == NULL) {
        return fail("nofile", 0);
    }
#ifdef LT_TRACE
    trace = argc > 3 ? fopen(argv[3], "wb") : NULL;
    if (trace == NULL) {
        return fail("nofile", 1);
    }
    trace_sample = -1; /* rows made by init */
#endif
    int status = HARNESS_INIT(&model, arena, HARNESS_ARENA_SIZE);
    status = status != 0 ? fail("init", status) : run_samples(&model, inputs, outputs);
#ifdef LT_TRACE
    if (fclose(trace) != 0) {
        status = 1;
    }
#endif
    if (fclose(outputs) != 0 || fclose(inputs) != 0) {
        status = 1;
    }
    free(arena);
    return status;
}
