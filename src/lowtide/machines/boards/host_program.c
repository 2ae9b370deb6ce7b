/* The functions of host_program.h, for the one model that harness_model.h names. */
#define _POSIX_C_SOURCE 200112L
#include "host_program.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness_model.h"

static const size_t input_bytes[] = HARNESS_INPUT_BYTES;
static const size_t output_bytes[] = HARNESS_OUTPUT_BYTES;

static HARNESS_MODEL_TYPE *model;
static void *arena;
static const char *failed = "";

#ifdef HARNESS_STATE_SIZE
static void *state;
#endif

#ifdef HARNESS_INPUT_OFFSETS
static uint8_t *given[HARNESS_INPUTS + 1]; /* inputs that the model does not own */
#endif

static int fail(const char *what, int status)
{
    failed = what;
    return status != 0 ? status : 1;
}

const char *host_failed(void)
{
    return failed;
}

static void *aligned(size_t align, size_t size)
{
    void *memory = NULL;
    align = align < sizeof(void *) ? sizeof(void *) : align;
#ifdef _WIN32
    memory = _aligned_malloc(size > 0 ? size : 1, align);
#else
    if (posix_memalign(&memory, align, size) != 0) {
        return NULL;
    }
#endif
    return memory;
}

static void release(void *memory)
{
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

#ifdef LT_COUNT
uint64_t lt_macs;
#endif

int64_t host_macs(void)
{
#ifdef LT_COUNT
    return (int64_t)lt_macs;
#else
    return 0;
#endif
}

#ifdef LT_TRACE
static uint8_t *records;
static size_t recorded, room;
static int is_read; /* records that were read are not wanted again */
static int32_t trace_sample;

void lt_trace(int tensor, int row, const void *data, int bytes);

void lt_trace(int tensor, int row, const void *data, int bytes)
{
    const int32_t head[4] = {trace_sample, (int32_t)tensor, (int32_t)row, (int32_t)bytes};
    const size_t size = sizeof head + (size_t)bytes;
    if (is_read) {
        recorded = 0;
        is_read = 0;
    }
    if (room - recorded < size) {
        const size_t more = 2 * room + size;
        uint8_t *const moved = realloc(records, more);
        if (moved == NULL) {
            abort();
        }
        records = moved;
        room = more;
    }
    memcpy(records + recorded, head, sizeof head);
    if (bytes > 0) {
        memcpy(records + recorded + sizeof head, data, (size_t)bytes);
    }
    recorded += size;
}
#endif

int64_t host_trace(const uint8_t **into)
{
#ifdef LT_TRACE
    const size_t size = is_read ? 0 : recorded;
    is_read = 1;
    *into = records;
    return (int64_t)size;
#else
    *into = NULL;
    return 0;
#endif
}

#ifdef HARNESS_RING_ROWS
#define RING_ROWS (HARNESS_RING_ROWS + 1) /* one more than is read: it goes on elsewhere each time */
static uint8_t *ring;

/* A row is there: the one behind it, the oldest, is read no more. */
static void forget_oldest(const uint8_t *row, size_t bytes)
{
    const size_t next = ((size_t)(row - ring) / bytes + 1) % RING_ROWS;
    memset(ring + next * bytes, 0xA5, bytes);
}
#endif

#ifdef HARNESS_SET_PULL
static const size_t input_row_bytes[] = HARNESS_INPUT_ROW_BYTES;

static int pull(void *context, int input, int row, void *to)
{
    (void)context;
    memcpy(to, given[input] + (size_t)row * input_row_bytes[input], input_row_bytes[input]);
#ifdef HARNESS_RING_ROWS
    forget_oldest(to, input_row_bytes[0]);
#endif
    return 0;
}
#endif

#ifdef HARNESS_SET_TAKE
static const size_t output_row_bytes[] = HARNESS_OUTPUT_ROW_BYTES;
static uint8_t *taken[HARNESS_OUTPUTS + 1]; /* where the outputs of this sample go */

static int take(void *context, int output, int row, const void *from)
{
    (void)context;
    memcpy(taken[output] + (size_t)row * output_row_bytes[output], from, output_row_bytes[output]);
    return 0;
}
#endif

int host_open(void)
{
    int status;
    model = calloc(1, sizeof *model);
    arena = aligned(HARNESS_ARENA_ALIGN, HARNESS_ARENA_SIZE);
    if (model == NULL || arena == NULL) {
        return fail("memory", 1);
    }
    memset(arena, 0xA5, HARNESS_ARENA_SIZE); /* models must not rely on a zeroed arena */
#ifdef HARNESS_STATE_SIZE
    state = aligned(HARNESS_STATE_ALIGN, HARNESS_STATE_SIZE);
    if (state == NULL) {
        return fail("memory", 1);
    }
    memset(state, 0xA5, HARNESS_STATE_SIZE);
#endif
#ifdef HARNESS_INPUT_OFFSETS
    for (int i = 0; i < HARNESS_INPUTS; i++) {
        given[i] = malloc(input_bytes[i] > 0 ? input_bytes[i] : 1);
        if (given[i] == NULL) {
            return fail("memory", 1);
        }
    }
#endif
#ifdef LT_TRACE
    trace_sample = -1; /* rows made by init */
#endif
#ifdef HARNESS_STATE_SIZE
    status = HARNESS_INIT(model, arena, HARNESS_ARENA_SIZE, state, HARNESS_STATE_SIZE);
#else
    status = HARNESS_INIT(model, arena, HARNESS_ARENA_SIZE);
#endif
#ifdef HARNESS_SET_PULL
    status = status != 0 ? status : HARNESS_SET_PULL(model, pull, NULL);
#endif
#ifdef HARNESS_SET_TAKE
    status = status != 0 ? status : HARNESS_SET_TAKE(model, take, NULL);
#endif
#ifdef HARNESS_RING_ROWS
    ring = malloc(RING_ROWS * input_row_bytes[0]);
    if (ring == NULL) {
        return fail("memory", 1);
    }
    memset(ring, 0xA5, RING_ROWS * input_row_bytes[0]);
    status = status != 0 ? status : HARNESS_SET_RING(model, ring, RING_ROWS, 1);
#endif
#ifdef HARNESS_SET_INPUT
    for (int i = 0; status == 0 && i < HARNESS_INPUTS; i++) {
        status = HARNESS_SET_INPUT(model, i, given[i]);
    }
#endif
    return status != 0 ? fail("init", status) : 0;
}

void host_close(void)
{
#ifdef HARNESS_INPUT_OFFSETS
    for (int i = 0; i < HARNESS_INPUTS; i++) {
        free(given[i]);
        given[i] = NULL;
    }
#endif
#ifdef HARNESS_STATE_SIZE
    release(state);
    state = NULL;
#endif
#ifdef HARNESS_RING_ROWS
    free(ring);
    ring = NULL;
#endif
#ifdef LT_TRACE
    free(records);
    records = NULL;
    recorded = room = 0;
#endif
    release(arena);
    free(model);
    arena = NULL;
    model = NULL;
}

int host_reset(void)
{
#ifdef HARNESS_RESET
    const int status = HARNESS_RESET(model);
    return status != 0 ? fail("reset", status) : 0;
#else
    return 0;
#endif
}

/* Run the network once: see host_run. */
static int run(int64_t sample, int varied)
{
#ifdef HARNESS_INVOKE_SOME
    if (varied && sample % 3 == 2) {
        uint32_t budget = (uint32_t)sample;
        int status;
        do {
            budget = budget * 1664525u + 1013904223u;
            status = HARNESS_INVOKE_SOME(model, budget >> (8 + budget % 24));
        } while (status == LT_MORE);
        return status;
    }
#endif
#ifdef HARNESS_PUSH
    if (varied && sample % 2 != 0) {
        int status = HARNESS_BEGIN(model);
        int done = HARNESS_INPUT_ROWS - HARNESS_WANTED(model);
        for (int n = 1; status == 0 && done < HARNESS_INPUT_ROWS; done += n, n = n % 3 + 1) {
            n = n < HARNESS_INPUT_ROWS - done ? n : HARNESS_INPUT_ROWS - done;
            status = HARNESS_PUSH(model, given[0] + (size_t)done * input_row_bytes[0], n);
        }
        return status != 0 ? status : HARNESS_WANTED(model);
    }
#endif
    (void)sample;
    (void)varied;
    return HARNESS_INVOKE(model);
}

int host_run(const void *const *inputs, void *const *outputs, int64_t samples, int64_t first,
             int varied)
{
    (void)inputs; /* a model may have none of them */
    (void)outputs;
    (void)output_bytes;
    for (int64_t n = 0; n < samples; n++) {
        memset(arena, 0xA5, HARNESS_ARENA_SIZE);
#ifdef LT_TRACE
        trace_sample = (int32_t)(first + n);
#endif
        for (int i = 0; i < HARNESS_INPUTS; i++) {
#ifdef HARNESS_INPUT_OFFSETS
            void *const input = given[i];
#else
            void *const input = HARNESS_INPUT(model, i);
#endif
            if (input == NULL) {
                return fail("call", 6);
            }
            memcpy(input, (const uint8_t *)inputs[i] + (size_t)n * input_bytes[i], input_bytes[i]);
        }
#ifdef HARNESS_SET_TAKE
        for (int i = 0; i < HARNESS_OUTPUTS; i++) {
            taken[i] = (uint8_t *)outputs[i] + (size_t)n * output_bytes[i];
        }
#endif
        const int status = run(first + n, varied);
        if (status != 0) {
            return fail("invoke", status);
        }
#ifndef HARNESS_SET_TAKE
        for (int i = 0; i < HARNESS_OUTPUTS; i++) {
            const void *const output = HARNESS_OUTPUT(model, i);
            if (output == NULL) {
                return fail("call", 5);
            }
            memcpy((uint8_t *)outputs[i] + (size_t)n * output_bytes[i], output, output_bytes[i]);
        }
#endif
    }
    return 0;
}
