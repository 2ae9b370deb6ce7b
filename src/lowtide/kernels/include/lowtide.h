/* SPDX-License-Identifier: Apache-2.0 */
/* lowtide.h: the step program and its interpreter.
 *
 * A network is a list of nodes (roughly, operators). A node makes its output in steps, usually one row per
 * step. A tensor of shape [1, H, W, C] is H rows of W * C elements. A turn is a number of consecutive steps
 * of one node, and a program is a list of turns. Kernels get pointers to rows, never to whole tensors, so a
 * row can be anywhere in memory. The compiler decides the order of the steps and the place of each row.
 *
 * The runtime uses no malloc, no recursion and no mutable globals. All data that changes is in the arena and
 * in a small struct that the caller owns. Several models, or instances of one model, are independent.
 */
#ifndef LOWTIDE_H
#define LOWTIDE_H

#include <limits.h>
#include <stdint.h>

#if INT_MAX < 0x7FFFFFFF
#error "lowtide's C needs an int of 32 bits, which this core (such as AVR or MSP430) does not have"
#endif

/* Arduino compiles libraries for size, and a library can't change that. C++ (sketches) skips this line. */
#if defined(ARDUINO) && defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#pragma GCC optimize("O2")
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every bundle contains the files of the runtime that it needs. All functions of the runtime are weak, so
 * several bundles link into one program. The linker keeps the first of several equal functions. */
#if defined(__GNUC__) && !defined(_WIN32)
#define LT_SHARED __attribute__((weak))
#elif defined(__ICCARM__) || defined(__ICCRISCV__)
#define LT_SHARED __weak
#else
#define LT_SHARED
#endif

/* Status codes. */
#define LT_OK 0
#define LT_MORE 1              /* the slice has ended, but the run has not: call again */
#define LT_ERROR_ARGUMENT (-1) /* a null pointer, or an index out of range */
#define LT_ERROR_ARENA (-2)    /* the arena is too small or not aligned */
#define LT_ERROR_STATE (-3)    /* the state is too small or not aligned, or overlaps the arena */

/* The arguments of a kernel for one step. A pointer to a row is null if the row is padding. */
typedef struct {
    const void *const *in; /* rows of the first input's window, then of the second input's, and so on */
    void *const *out;      /* rows of the outputs, in the same way */
    void *scratch;         /* the node's scratch memory, aligned like the arena */
    uint16_t row;          /* the number of this step, from 0 */
} lt_step;

/* A kernel runs one step. `params` points to the constant struct that the kernel's header describes. */
typedef void (*lt_kernel)(const void *params, const lt_step *step);

/* A tensor as rows. Row r is at `offset` + r * `pitch` bytes from the base or, if `apart` is not 0, at
 * `offset` + (places[p + codes[c + r]] << place_shift) bytes from it (fields of the program), where c is the low
 * half of `pitch` and p the high one. If `apart` is LT_FAR, each 256 rows have the next 256 places. In some
 * programs, rows are in a ring in the caller's memory. Their value of `apart` is in lt_ring.h. */
typedef struct {
    uint32_t offset;
    uint32_t pitch;
    uint16_t count; /* number of rows */
    uint8_t base;   /* index into `bases`: 0 is the arena, 1 the constants; then inputs, state and strips */
    uint8_t apart;  /* 0 if row r is at offset + r * pitch */
} lt_rows;

#define LT_FAR 3U

/* The rows of one tensor that the steps of a node read or write. The window of step r is the `count` rows
 * s, s + dilation, s + 2 * dilation, ..., where s = first + r * stride or, if `table` is not LT_NONE,
 * s = tables[table + r], a field of the program. Rows outside the tensor are padding (null pointers). */
typedef struct {
    uint16_t rows; /* index into the program's `rows` */
    int16_t first;
    uint16_t count;
    uint16_t table;
    uint8_t stride;
    uint8_t dilation;
} lt_port;

#define LT_NONE 0xFFFFU

/* A kernel, and the number of ports of its nodes. */
typedef struct {
    lt_kernel run;
    uint8_t inputs;
    uint8_t outputs;
} lt_kind;

typedef struct {
    const void *params;
    uint16_t scratch; /* index into the program's `rows`: where the scratch memory of step r is */
    uint16_t ports;   /* index of the first input's port; the ports of outputs follow those of inputs */
    uint16_t counter; /* index into the instance's `next`: the number of the node's next step */
    uint8_t kind;     /* index into the program's `kinds`, or one of the values below */
} lt_node;

/* Nodes without a kernel. In a step of LT_GIVE, the caller gives a row. In a step of LT_TAKE, it takes a
 * row. Their field `scratch` is the number of the network's input or output. A node LT_STRIP begins a strip,
 * and its `params` point to an lt_strip. */
#define LT_GIVE 0xFFU
#define LT_TAKE 0xFEU
#define LT_STRIP 0xFDU

/* A strip is a range of columns of every row. The operators run again for each strip, further to the right.
 * A strip sets bases[base] to bases[from] + offset for each of its shifts, and its nodes begin at step 0. */
typedef struct {
    uint8_t base;
    uint8_t from;
    int32_t offset;
} lt_shift;

typedef struct {
    const lt_shift *shifts;
    uint16_t shift_count;
    uint16_t counter; /* index of the first node's counter */
    uint16_t counter_count; /* number of counters to set to 0 */
} lt_strip;

/* Runs the next `steps` steps of one node. If node >= LT_LOOP, the entry is a loop: it runs the following
 * node - LT_LOOP turns, `steps` times. Loops can contain loops, up to LT_DEPTH deep. */
typedef struct {
    uint16_t node;
    uint16_t steps;
} lt_turn;

#define LT_LOOP 0x8000U
#define LT_DEPTH 4

/* The rows that a program exchanges: the caller gives rows (LT_GIVES), or takes rows (LT_TAKES). */
#define LT_GIVES 1U
#define LT_TAKES 2U

/* An instance of the program is a struct that the user owns. It has these arrays: `bases` (uint8_t *), as in
 * lt_rows, where bases[0] is null until the instance is set up; `next` (uint16_t), one counter per node; and
 * `pointers` (void *), as many as one step needs. The program has their offsets in the struct, in bytes. */
typedef struct {
    const char *runtime; /* &LT_RUNTIME by name (lt_version.h): with another version, it doesn't compile */
    const lt_kind *kinds;
    const lt_rows *rows;
    const lt_port *ports;
    const lt_node *nodes;
    const lt_turn *turns;
    const uint16_t *places;
    const uint8_t *codes;
    const int16_t *tables;
    uint16_t turn_count;
    uint16_t counter_count;
    uint16_t bases;
    uint16_t next;
    uint32_t pointers;
    uint16_t row_count; /* number of rows of the input whose rows can be pushed (lt_stream.h), or 0 */
    uint8_t exchanges;  /* LT_GIVES, LT_TAKES, or both */
    uint8_t place_shift;
#ifdef LT_TRACE
    const struct lt_traced *traced; /* one for each of `rows` */
    const uint16_t (*inner)[2];     /* one pair for each node: see lt_trace_inner */
#endif
} lt_program;

/* A loop in progress. */
typedef struct {
    uint16_t first; /* index of the loop's first turn, after the loop's own entry */
    uint16_t left;  /* rounds that are left, including the current one */
} lt_loop;

/* The position of a run, so that it can stop and continue. */
typedef struct {
    lt_loop loops[LT_DEPTH];
    uint16_t depth;
    uint16_t turn; /* the turn to run next, or the current one */
    uint16_t done; /* finished steps of that turn, if it is an exchange */
    uint16_t node; /* the exchange at which the run stopped */
    uint16_t row;  /* the number of the row to exchange */
} lt_position;

/* Prepare a run of the instance `net` from the start. */
void lt_start(const lt_program *program, lt_position *at, void *net);

/* Run to the next exchange, or to the end. Returns 1 at an exchange, and 0 at the end. The next call
 * continues from there. */
int lt_run(const lt_program *program, lt_position *at, void *net);

/* Returns the address of the row to give or take at the exchange at which the run stopped. */
void *lt_row(const lt_program *program, const lt_position *at, void *net);

#ifdef LT_TRACE
/* For verification only: after every step, the runtime calls it for each row of the step's outputs. */
void lt_trace(int tensor, int row, const void *data, int bytes);

/* Kernels that make tensors which never exist as rows call it. `which` is 0 for the node's first such tensor
 * and 1 for its second. `row` numbers the parts of the tensor, in the order of their elements. */
void lt_trace_inner(int which, int row, const void *data, int bytes);

struct lt_traced {
    uint32_t bytes;  /* size of a row */
    uint16_t tensor; /* the tensor's index in the model file */
};
#endif

/* Counts the multiply-accumulates that a kernel executes, padding included, if LT_COUNT is defined. */
#ifdef LT_COUNT
extern uint64_t lt_macs;
#define LT_MACS(n) (lt_macs += (uint64_t)(n))
#else
#define LT_MACS(n) ((void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif
