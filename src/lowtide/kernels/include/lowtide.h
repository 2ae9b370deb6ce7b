/* SPDX-License-Identifier: Apache-2.0 */
/* lowtide.h: the step program and its interpreter.
 *
 * A network is a list of nodes (roughly, operators). A node makes its output in steps, usually one row
 * per step: [1, H, W, C] is H rows of W * C elements. A turn runs some consecutive steps of one node,
 * and the program is a list of turns. Kernels see pointers to rows, never whole tensors, so rows can be
 * anywhere. The compiler alone decides in which order steps run, and where rows are.
 *
 * There is no malloc, no recursion and no mutable global: everything that changes is in the arena and
 * in a few words that the caller owns. Several models, or instances of one model, are independent.
 */
#ifndef LOWTIDE_H
#define LOWTIDE_H

#include <limits.h>
#include <stdint.h>

#if INT_MAX < 0x7FFFFFFF
#error "programs of lowtide need an int of 32 bits, which this core (an AVR, an MSP430) has not"
#endif

/* Arduino compiles libraries for size, and they cannot change that. Sketches are C++; this skips them. */
#if defined(ARDUINO) && defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#pragma GCC optimize("O2")
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every bundle has the files of the runtime that it needs. All functions of the runtime are weak, so that
 * objects of several bundles link: of equal functions, the linker takes the first. */
#if defined(__GNUC__) && !defined(_WIN32)
#define LT_SHARED __attribute__((weak))
#elif defined(__ICCARM__) || defined(__ICCRISCV__)
#define LT_SHARED __weak
#else
#define LT_SHARED
#endif

/* Status codes. */
#define LT_OK 0
#define LT_MORE 1              /* a slice has ended, but the run has not: call again */
#define LT_ERROR_ARGUMENT (-1) /* a null pointer, or an index out of range */
#define LT_ERROR_ARENA (-2)    /* the arena is too small or not aligned */
#define LT_ERROR_STATE (-3)    /* the state is too small or not aligned, or overlaps the arena */

/* What a kernel gets for one step. A row pointer is null if the row is padding. */
typedef struct {
    const void *const *in; /* the rows of the first input's window, then the second's, ... */
    void *const *out;      /* the same for the outputs */
    void *scratch;         /* the node's scratch memory, aligned as the arena is */
    uint16_t row;          /* the number of this step, from 0 */
} lt_step;

/* A kernel runs one step; `params` is the constant struct that its header describes. */
typedef void (*lt_kernel)(const void *params, const lt_step *step);

/* A tensor cut into rows. Row r is `offset` + r * `pitch` bytes from the base. If rows are `apart`, it is
 * `offset` + (places[pitch + r] << place_shift) bytes from it, with the program's places. Rows in a ring
 * in the caller's memory, which only some programs have, have another `apart`: see lt_ring.h. */
typedef struct {
    uint32_t offset;
    uint32_t pitch;
    uint16_t count; /* number of rows */
    uint8_t base;   /* index: 0 is the arena, 1 the constants; then inputs, the state, strips */
    uint8_t apart;
} lt_rows;

/* The rows of one tensor that a node's steps read or write. Step r's window is the `count` rows
 * s, s + dilation, s + 2 * dilation, ..., where s = first + r * stride, or, if table is not LT_NONE,
 * s = tables[table + r] with the program's tables. Rows outside the tensor are padding (null). */
typedef struct {
    uint16_t rows; /* index into the program's rows */
    int16_t first;
    uint16_t count;
    uint16_t table;
    uint8_t stride;
    uint8_t dilation;
} lt_port;

#define LT_NONE 0xFFFFU

/* A kernel, and how many ports its nodes have. */
typedef struct {
    lt_kernel run;
    uint8_t inputs;
    uint8_t outputs;
} lt_kind;

typedef struct {
    const void *params;
    uint16_t scratch; /* index into the program's rows: where step r's scratch memory is */
    uint16_t ports;   /* index of the first input's port; outputs follow inputs */
    uint16_t counter; /* index of the number of its next step */
    uint8_t kind;     /* index into the program's kinds, or one of the following */
} lt_node;

/* Nodes without a kernel. In a step of LT_GIVE, the caller gives a row, and in a step of LT_TAKE, it takes
 * one; `scratch` is the number of the network's input or output. LT_STRIP begins a strip; its params are
 * an lt_strip. */
#define LT_GIVE 0xFFU
#define LT_TAKE 0xFEU
#define LT_STRIP 0xFDU

/* A strip is some columns of every row: operators run again for each strip, further to the right.
 * bases[base] becomes bases[from] + offset, and nodes begin with step 0 again. */
typedef struct {
    uint8_t base;
    uint8_t from;
    int32_t offset;
} lt_shift;

typedef struct {
    const lt_shift *shifts;
    uint16_t shift_count;
    uint16_t counter; /* of the first of the nodes */
    uint16_t counter_count;
} lt_strip;

/* The next `steps` steps of one node. If node >= LT_LOOP: the following node - LT_LOOP turns, `steps`
 * times. Loops can contain loops, up to LT_DEPTH deep. */
typedef struct {
    uint16_t node;
    uint16_t steps;
} lt_turn;

#define LT_LOOP 0x8000U
#define LT_DEPTH 4

/* Which rows a program exchanges: rows that the caller gives, and rows that it takes. */
#define LT_GIVES 1U
#define LT_TAKES 2U

/* An instance of the program is a struct of its user with these arrays: `bases` (uint8_t *) as in lt_rows,
 * with bases[0] null before it is set up; `next` (uint16_t), a counter for each node; `pointers` (void *),
 * as many as one step needs. The program has their offsets in the struct, in bytes. */
typedef struct {
    const char *runtime; /* &LT_RUNTIME of lt_version.h by name: another one fails to compile */
    const lt_kind *kinds;
    const lt_rows *rows;
    const lt_port *ports;
    const lt_node *nodes;
    const lt_turn *turns;
    const uint16_t *places;
    const int16_t *tables;
    uint16_t turn_count;
    uint16_t counter_count;
    uint16_t bases;
    uint16_t next;
    uint32_t pointers;
    uint16_t row_count; /* of the input whose rows can be pushed, or 0: see lt_stream.h */
    uint8_t exchanges;  /* LT_GIVES, LT_TAKES, or both */
    uint8_t place_shift;
#ifdef LT_TRACE
    const struct lt_traced *traced; /* of each of the rows */
    const uint16_t (*inner)[2];     /* of each node: see lt_trace_inner */
#endif
} lt_program;

/* A loop in progress. */
typedef struct {
    uint16_t first; /* the turn that it begins with, after its own entry */
    uint16_t left;  /* rounds, including the current one */
} lt_loop;

/* Where a run is, so that it can stop and continue. */
typedef struct {
    lt_loop loops[LT_DEPTH];
    uint16_t depth;
    uint16_t turn; /* the turn to run next, or the current one */
    uint16_t done; /* finished steps of it, if it is an exchange */
    uint16_t node; /* the exchange that the run stopped at */
    uint16_t row;  /* and the number of the row */
} lt_position;

/* Prepare a run of the instance `net` from the start. */
void lt_start(const lt_program *program, lt_position *at, void *net);

/* Run to the next exchange, or to the end. Returns whether it is an exchange; the next call continues
 * from there. */
int lt_run(const lt_program *program, lt_position *at, void *net);

/* Returns the address of the row to give or take at the exchange at which the run stopped. */
void *lt_row(const lt_program *program, const lt_position *at, void *net);

#ifdef LT_TRACE
/* For verification only: called after every step, for each row of its outputs. */
void lt_trace(int tensor, int row, const void *data, int bytes);

/* Called by kernels that make tensors which never exist as rows, with part `row` of the first or second
 * of them, in the order of their elements. */
void lt_trace_inner(int which, int row, const void *data, int bytes);

struct lt_traced {
    uint32_t bytes;  /* of a row */
    uint16_t tensor; /* the tensor's index in the model file */
};
#endif

/* Multiply-accumulates that a kernel executes, padding included; counted if LT_COUNT is defined. */
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
