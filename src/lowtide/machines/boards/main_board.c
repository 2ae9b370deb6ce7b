/* Runs a model on an emulated board and measures it.
 *
 * Inputs come from a file of the host and outputs go to one, through semihosting, so that no input
 * sits in the board's flash. All of this is scaffolding: it needs little RAM, pulls in no library
 * function, and is left out of every figure. What the host reads are lines "lowtide: KEY HEX".
 *
 *     RAM:  arena | .data | .bss, state | free, painted ........ | init/invoke | harness |
 *                                ^ harness_stack_limit     ^ sp          harness_stack_top ^
 */
#include "harness.h"
#include "harness_model.h"

#define SYS_OPEN 0x01u
#define SYS_CLOSE 0x02u
#define SYS_WRITE0 0x04u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_SEEK 0x0Au
#define SYS_EXIT 0x18u
#define OPEN_READ 1u
#define OPEN_WRITE 5u
#define EXIT_FINE 0x20026u
#define EXIT_FAILED 0x20023u
#define NO_FILE 0xFFFFFFFFu

#define PAINT 0x5AC3B96Du
#define ARENA_PAINT 0xA5u /* models must not rely on a zeroed arena */

static uint8_t arena[HARNESS_ARENA_SIZE]
    __attribute__((section(".arena"), aligned(HARNESS_ARENA_ALIGN)));

#ifdef HARNESS_STATE_SIZE
static uint8_t state[HARNESS_STATE_SIZE]
    __attribute__((section(".bss.harness_state"), aligned(HARNESS_STATE_ALIGN)));
#endif

/* A section of its own: the instance is the one thing here that every user of the model needs. */
static HARNESS_MODEL_TYPE model __attribute__((section(".bss.harness_model")));

static const uint32_t input_bytes[] = HARNESS_INPUT_BYTES;
static const uint32_t output_bytes[] = HARNESS_OUTPUT_BYTES;

#ifdef HARNESS_INPUT_OFFSETS
/* Inputs that stay outside the model's RAM are in flash: the emulator writes there all the same. */
static const uint8_t input_space[HARNESS_INPUT_SPACE]
    __attribute__((section(".rodata.harness_inputs"), aligned(16))) = {0};
static const uint32_t input_offsets[] = HARNESS_INPUT_OFFSETS;
#endif

static __attribute__((noreturn)) void leave(uint32_t reason)
{
    for (;;) {
        harness_host(SYS_EXIT, (const void *)(uintptr_t)reason);
    }
}

static void report(const char *key, uint64_t value)
{
    char digits[20];
    char *at = digits + sizeof digits - 1;
    *at = '\0';
    *--at = '\n';
    do { /* hexadecimal: no core here divides 64 bits without a library */
        *--at = "0123456789abcdef"[(uint32_t)value & 15u];
        value >>= 4;
    } while (value != 0);
    harness_host(SYS_WRITE0, "lowtide: ");
    harness_host(SYS_WRITE0, key);
    harness_host(SYS_WRITE0, at);
}

void harness_fault(uint32_t cause, uint32_t pc, uint32_t detail, uint32_t address)
{
    report("fault ", cause);
    report("pc ", pc);
    report("detail ", detail);
    report("address ", address);
    leave(EXIT_FAILED);
}

static uint32_t open_file(const char *name, uint32_t length, uint32_t mode)
{
    const uintptr_t block[3] = {(uintptr_t)name, mode, length};
    const uint32_t file = harness_host(SYS_OPEN, block);
    if (file == NO_FILE) {
        report("nofile ", mode);
        leave(EXIT_FAILED);
    }
    return file;
}

/* SYS_READ or SYS_WRITE of exactly `bytes`; both return how many bytes were left over. */
static void transfer(uint32_t operation, uint32_t file, const void *data, uint32_t bytes)
{
    const uintptr_t block[3] = {file, (uintptr_t)data, bytes};
    if (data == 0 || harness_host(operation, block) != 0) {
        report("notransfer ", operation);
        leave(EXIT_FAILED);
    }
}

static int call_nothing(void)
{
    return 0;
}

static int call_init(void)
{
#ifdef HARNESS_STATE_SIZE
    return HARNESS_INIT(&model, arena, sizeof arena, state, sizeof state);
#else
    return HARNESS_INIT(&model, arena, sizeof arena);
#endif
}

#ifdef HARNESS_HOP_ROWS
/* Of a window that slides: when the last row was given, and the most ticks from one to what is next. */
static uint64_t row_given, row_ticks;

static void row_is_over(void)
{
    const uint64_t ticks = harness_count() - row_given;
    if (row_given != 0 && ticks > row_ticks) {
        row_ticks = ticks;
    }
    row_given = 0;
}
#endif

static int call_invoke(void)
{
    const int status = HARNESS_INVOKE(&model);
#ifdef HARNESS_HOP_ROWS
    row_is_over();
#endif
    return status;
}

/* Calls `function` and reports its ticks, its status, how deep its stack went below the caller's, and
 * how deep it could have gone, in bytes. Between the two loops nothing here may touch the stack: the
 * frame of this function is complete before the first, and what it calls meanwhile is inlined. */
static __attribute__((noipa)) int measure(int (*call)(void))
{
    volatile uint32_t *const bottom = harness_stack_limit;
    volatile uint32_t *at;
    volatile uint32_t *const sp = harness_stack_pointer();
    for (at = bottom; at < sp; at++) {
        *at = PAINT;
    }
    harness_count_start();
    const uint64_t begin = harness_count();
    const int status = call();
    const uint64_t ticks = harness_count() - begin;
    for (at = bottom; at < sp && *at == PAINT; at++) {
    }
    report("ticks ", ticks);
    report("stack ", (uint32_t)((uintptr_t)sp - (uintptr_t)at));
    report("room ", (uint32_t)((uintptr_t)sp - (uintptr_t)bottom));
    report("status ", (uint32_t)status);
    return status;
}

#ifdef HARNESS_SET_PULL
static const uint32_t input_row_bytes[] = HARNESS_INPUT_ROW_BYTES;

#ifdef HARNESS_RING_ROWS
/* The ring has as many rows as the window: the host writes each window there, row 0 to row `oldest`. */
static uint32_t oldest;
#endif

static int pull(void *context, int input, int row, void *to)
{
#ifdef HARNESS_RING_ROWS
    row = (int)((oldest + (uint32_t)row) % HARNESS_INPUT_ROWS);
#endif
    const uint8_t *from = input_space + input_offsets[input] + (uint32_t)row * input_row_bytes[input];
    uint8_t *at = to;
    (void)context;
#ifdef HARNESS_RING_ROWS
    if (at != from) {
        return 1;
    }
#endif
#ifdef HARNESS_HOP_ROWS
    row_is_over();
#endif
#ifndef HARNESS_RING_ROWS
    for (uint32_t n = input_row_bytes[input]; n > 0; n--) {
        *at++ = *from++;
    }
#endif
#ifdef HARNESS_HOP_ROWS
    row_given = harness_count();
#endif
    return 0;
}
#endif

#ifdef HARNESS_SET_TAKE
static const uint32_t output_row_bytes[] = HARNESS_OUTPUT_ROW_BYTES;
static uint32_t outputs_file, outputs_before;

/* Rows of several outputs come in any order: each is written to its place in the file. */
static int take(void *context, int output, int row, const void *from)
{
    uintptr_t block[2] = {outputs_file, outputs_before + (uint32_t)row * output_row_bytes[output]};
    (void)context;
    for (int i = 0; i < output; i++) {
        block[1] += output_bytes[i];
    }
    if (harness_host(SYS_SEEK, block) != 0) {
        return 1;
    }
    transfer(SYS_WRITE, outputs_file, from, output_row_bytes[output]);
    return 0;
}
#endif

static void read_input(uint32_t file, int i)
{
#ifdef HARNESS_INPUT_OFFSETS
    const void *const input = input_space + input_offsets[i];
#endif
#ifdef HARNESS_SET_INPUT
    if (HARNESS_SET_INPUT(&model, i, input) != 0) {
        report("notransfer ", SYS_READ);
        leave(EXIT_FAILED);
    }
#endif
#ifndef HARNESS_INPUT_OFFSETS
    const void *const input = HARNESS_INPUT(&model, i);
#endif
#ifdef HARNESS_RING_ROWS
    const uint32_t before = oldest * input_row_bytes[0];
    transfer(SYS_READ, file, input_space + before, input_bytes[0] - before);
    transfer(SYS_READ, file, input, before);
#else
    transfer(SYS_READ, file, input, input_bytes[i]);
#endif
}

static void run_sample(uint32_t inputs, uint32_t outputs)
{
    int i;
    for (i = 0; i < HARNESS_INPUTS; i++) {
        read_input(inputs, i);
    }
    if (measure(call_invoke) != 0) {
        leave(EXIT_FAILED);
    }
#ifdef HARNESS_SET_TAKE
    (void)outputs;
    for (i = 0; i < HARNESS_OUTPUTS; i++) {
        outputs_before += output_bytes[i];
    }
#else
    for (i = 0; i < HARNESS_OUTPUTS; i++) {
        transfer(SYS_WRITE, outputs, HARNESS_OUTPUT(&model, i), output_bytes[i]);
    }
#endif
}

void harness_run(void)
{
    uint32_t head[2], n; /* number of samples; before which of them the model is reset */
    const uint32_t *from = harness_data_load;
    uint32_t *to;
    for (to = harness_data_start; to < harness_data_end; to++, from++) {
        *to = *from;
    }
    for (to = harness_bss_start; to < harness_bss_end; to++) {
        *to = 0;
    }
    for (n = 0; n < sizeof arena; n++) {
        arena[n] = ARENA_PAINT;
    }
#ifdef HARNESS_STATE_SIZE
    for (n = 0; n < sizeof state; n++) {
        state[n] = ARENA_PAINT;
    }
#endif
    measure(call_nothing);
    if (measure(call_init) != 0) {
        leave(EXIT_FAILED);
    }
    const uint32_t inputs = open_file("inputs.bin", 10, OPEN_READ);
    const uint32_t outputs = open_file("outputs.bin", 11, OPEN_WRITE);
    transfer(SYS_READ, inputs, head, sizeof head);
#ifdef HARNESS_SET_PULL
    if (HARNESS_SET_PULL(&model, pull, 0) != 0) {
        leave(EXIT_FAILED);
    }
#endif
#ifdef HARNESS_SET_TAKE
    outputs_file = outputs;
    if (HARNESS_SET_TAKE(&model, take, 0) != 0) {
        leave(EXIT_FAILED);
    }
#endif
#ifdef HARNESS_RING_ROWS
    if (HARNESS_SET_RING(&model, (void *)(uintptr_t)input_space, HARNESS_INPUT_ROWS, 0) != 0) {
        leave(EXIT_FAILED);
    }
#endif
    for (n = 0; n < head[0]; n++) {
#ifdef HARNESS_RESET
        if (n != 0 && n == head[1] && HARNESS_RESET(&model) != 0) {
            leave(EXIT_FAILED);
        }
#endif
#ifdef HARNESS_RING_ROWS
        if (n != 0 && n != head[1]) { /* after a reset, rows go on where they were */
            oldest = (oldest + HARNESS_HOP_ROWS) % HARNESS_INPUT_ROWS;
        }
#endif
        run_sample(inputs, outputs);
    }
#ifdef HARNESS_HOP_ROWS
    report("row ", row_ticks);
#endif
    harness_host(SYS_CLOSE, &outputs);
    leave(EXIT_FINE);
}
