/* Runs a model on the host: main INPUTS OUTPUTS [TRACE].
 *
 * INPUTS holds the number of samples (native uint32_t), then each sample's inputs one after the other;
 * OUTPUTS gets each sample's outputs. The arena comes from the heap with exactly the size that the
 * model asks for, so that the address sanitizer sees every byte touched beyond it; so does the state,
 * if there is any. The arena is overwritten before each sample: nothing in it may be needed again.
 *
 * Compiled with LT_TRACE, the model calls lt_trace after every row it makes, and TRACE gets a record
 * of each: int32_t sample, tensor, row, bytes, then the bytes. Compiled with LT_COUNT, the number of
 * multiply-accumulates of all samples is printed.
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

#ifdef LT_COUNT
uint64_t lt_macs;
#endif

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

#ifdef HARNESS_INPUT_OFFSETS
/* Inputs that the model does not own come from the heap, each with its exact size; they stay there
 * until the process ends. */
static uint8_t *given[HARNESS_INPUTS + 1];
#endif

/* Where to write input i. */
static void *input_at(HARNESS_MODEL_TYPE *model, int i)
{
#ifdef HARNESS_INPUT_OFFSETS
    given[i] = malloc(input_bytes[i] > 0 ? input_bytes[i] : 1);
#ifdef HARNESS_SET_INPUT
    return given[i] != NULL && HARNESS_SET_INPUT(model, i, given[i]) == 0 ? given[i] : NULL;
#else
    (void)model;
    return given[i];
#endif
#else
    return HARNESS_INPUT(model, i);
#endif
}

#ifdef HARNESS_SET_PULL
static const size_t input_row_bytes[] = HARNESS_INPUT_ROW_BYTES;

static int pull(void *context, int input, int row, void *to)
{
    (void)context;
    memcpy(to, given[input] + (size_t)row * input_row_bytes[input], input_row_bytes[input]);
    return 0;
}
#endif

#ifdef HARNESS_SET_TAKE
static const size_t output_row_bytes[] = HARNESS_OUTPUT_ROW_BYTES;
static long taken_sample;

/* Rows of several outputs come in any order: each is written to its place in the file. */
static int take(void *context, int output, int row, const void *from)
{
    FILE *const file = context;
    size_t all = 0, before = 0;
    for (int i = 0; i < HARNESS_OUTPUTS; i++) {
        all += output_bytes[i];
        before += i < output ? output_bytes[i] : 0;
    }
    const size_t at = (size_t)taken_sample * all + before + (size_t)row * output_row_bytes[output];
    if (fseek(file, (long)at, SEEK_SET) != 0) {
        return 1;
    }
    return fwrite(from, 1, output_row_bytes[output], file) == output_row_bytes[output] ? 0 : 1;
}
#endif

/* Run the network once: streamed inputs are pulled for even samples, and pushed for odd ones, one row,
 * then two, then three at a time. A model that can runs each third sample in slices, of all lengths. */
static int run(HARNESS_MODEL_TYPE *model, uint32_t sample)
{
#ifdef HARNESS_INVOKE_SOME
    if (sample % 3 == 2) {
        uint32_t budget = sample;
        int status;
        do {
            budget = budget * 1664525u + 1013904223u;
            status = HARNESS_INVOKE_SOME(model, budget >> (8 + budget % 24));
        } while (status == LT_MORE);
        return status;
    }
#endif
#ifdef HARNESS_PUSH
    if (sample % 2 != 0) {
        int done = 0, status = 0;
        for (int n = 1; status == 0 && done < HARNESS_INPUT_ROWS; done += n, n = n % 3 + 1) {
            n = n < HARNESS_INPUT_ROWS - done ? n : HARNESS_INPUT_ROWS - done;
            status = HARNESS_PUSH(model, given[0] + (size_t)done * input_row_bytes[0], n);
        }
        return status != 0 ? status : HARNESS_WANTED(model);
    }
#endif
    (void)sample;
    return HARNESS_INVOKE(model);
}

static int run_samples(HARNESS_MODEL_TYPE *model, void *arena, FILE *inputs, FILE *outputs)
{
    uint32_t head[2], n;
    if (fread(head, sizeof head, 1, inputs) != 1) {
        return fail("notransfer", 6);
    }
    for (n = 0; n < head[0]; n++) {
        int i;
        memset(arena, 0xA5, HARNESS_ARENA_SIZE);
#ifdef HARNESS_RESET
        if (n != 0 && n == head[1] && HARNESS_RESET(model) != 0) {
            return fail("reset", (long)n);
        }
#endif
#ifdef LT_TRACE
        trace_sample = (int32_t)n;
#endif
        for (i = 0; i < HARNESS_INPUTS; i++) {
            void *const input = input_at(model, i);
            if (input == NULL || fread(input, 1, input_bytes[i], inputs) != input_bytes[i]) {
                return fail("notransfer", 6);
            }
        }
#ifdef HARNESS_SET_TAKE
        taken_sample = (long)n;
        (void)outputs;
#endif
        const int status = run(model, n);
        if (status != 0) {
            return fail("invoke", status);
        }
#ifndef HARNESS_SET_TAKE
        for (i = 0; i < HARNESS_OUTPUTS; i++) {
            const void *const output = HARNESS_OUTPUT(model, i);
            if (output == NULL || fwrite(output, 1, output_bytes[i], outputs) != output_bytes[i]) {
                return fail("notransfer", 5);
            }
        }
#endif
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
#ifdef HARNESS_STATE_SIZE
    void *state = NULL;
    const size_t state_align =
        HARNESS_STATE_ALIGN < sizeof(void *) ? sizeof(void *) : HARNESS_STATE_ALIGN;
    if (posix_memalign(&state, state_align, HARNESS_STATE_SIZE) != 0) {
        return fail("nostate", argc);
    }
    memset(state, 0xA5, HARNESS_STATE_SIZE);
#endif
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
#ifdef HARNESS_STATE_SIZE
    int status = HARNESS_INIT(&model, arena, HARNESS_ARENA_SIZE, state, HARNESS_STATE_SIZE);
#else
    int status = HARNESS_INIT(&model, arena, HARNESS_ARENA_SIZE);
#endif
#ifdef HARNESS_SET_PULL
    status = status != 0 ? status : HARNESS_SET_PULL(&model, pull, NULL);
#endif
#ifdef HARNESS_SET_TAKE
    status = status != 0 ? status : HARNESS_SET_TAKE(&model, take, outputs);
#endif
    status = status != 0 ? fail("init", status) : run_samples(&model, arena, inputs, outputs);
#ifdef LT_TRACE
    if (fclose(trace) != 0) {
        status = 1;
    }
#endif
#ifdef LT_COUNT
    printf("macs %llu\n", (unsigned long long)lt_macs);
#endif
    if (fclose(outputs) != 0 || fclose(inputs) != 0) {
        status = 1;
    }
#ifdef HARNESS_STATE_SIZE
    free(state);
#endif
    free(arena);
    return status;
}
