/* lowtide.h: the step program and its interpreter.
 *
 * A network is a list of nodes (operators, roughly). A node makes its output in steps, mostly one row
 * a step: [1, H, W, C] is H rows of W * C elements. A turn runs some consecutive steps of one node,
 * and the program is a list of turns. Kernels see pointers to rows, never whole tensors, so rows may
 * lie anywhere; which order steps run in, and where rows lie, is decided by the compiler alone.
 *
 * No malloc, no recursion, no globals that change: everything that changes is in the arena and in a
 * few words that the caller owns. Two models, or one model twice, do not know of each other.
 */
#ifndef LOWTIDE_H
#define LOWTIDE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes. */
#define LT_OK 0
#define LT_ERROR_ARGUMENT (-1) /* a null pointer, or an index out of range */
#define LT_ERROR_ARENA (-2)    /* the arena is too small or not aligned */

/* What a kernel gets for one step. A row pointer is null where the row is padding. */
typedef struct {
    const void *const *in; /* the rows of the first input's window, then the second's, ... */
    void *const *out;      /* the same of the outputs */
    void *scratch;         /* the node's scratch memory, aligned as the arena is */
    uint16_t row;          /* the number of this step, from 0 */
} lt_step;

/* A kernel runs one step; `params` is the constant struct that its header describes. */
typedef void (*lt_kernel)(const void *params, const lt_step *step);

/* A tensor cut into rows. Row r is at offset + r * pitch from the base, or, where rows lie apart, at
 * places[r] << the program's place_shift. */
typedef struct {
    const uint16_t *places;
    uint32_t offset;
    uint32_t pitch;  /* bytes */
    uint32_t bytes;  /* of a row */
    uint16_t count;  /* number of rows */
    uint16_t tensor; /* the tensor's index in the model file */
    uint8_t base;    /* index into the bases: 0 is the arena, 1 the constants, 2... the inputs */
} lt_rows;

/* The rows of one tensor that a node's steps read or write. Step r's window is the `count` rows
 * s, s + dilation, s + 2 * dilation, ..., where s = first + r * stride, or table[r] if there is a
 * table. Rows outside the tensor are padding (null). */
typedef struct {
    uint16_t rows; /* index into the program's rows */
    int16_t first;
    uint16_t stride;
    uint16_t count;
    uint16_t dilation;
    const int16_t *table;
} lt_port;

typedef struct {
    lt_kernel kernel;
    const void *params;
    uint16_t scratch; /* index into the program's rows: where step r's scratch memory is */
    uint16_t ports;   /* index of the first input's port; outputs follow inputs */
    uint8_t inputs;
    uint8_t outputs;
} lt_node;

/* The next `steps` steps of one node; or, if node >= LT_LOOP, the node - LT_LOOP turns that follow,
 * `steps` times. Loops may hold loops, LT_DEPTH deep. */
typedef struct {
    uint16_t node;
    uint16_t steps;
} lt_turn;

#define LT_LOOP 0x8000U
#define LT_DEPTH 4

typedef struct {
    const lt_rows *rows;
    const lt_port *ports;
    const lt_node *nodes;
    const lt_turn *turns;
    uint16_t turn_count;
    uint16_t node_count;
    uint8_t place_shift;
} lt_program;

/* Run all turns. `bases` as in lt_rows; `pointers` has room for the most row pointers that one step
 * needs, `next` for one number per node. All belong to the caller. */
void lt_run(const lt_program *program, uint8_t *const *bases, void **pointers, uint16_t *next);

#ifdef LT_TRACE
/* For verification only: called after every step for each row of its outputs. */
void lt_trace(int tensor, int row, const void *data, int bytes);
#endif

#ifdef __cplusplus
}
#endif

#endif
