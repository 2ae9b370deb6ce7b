/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_ring.h: sliding windows, as in lt_hop.h, whose rows stay in a ring in the caller's memory.
 *
 * The program has no memory for rows of the input: it reads them where the caller keeps them. A run reads
 * `reads` rows, of which `hop` are new, and begins when all new rows are there. Before the first window is
 * complete, rows older than its first row are read as copies of the first row. Their results have no effect
 * once the window is complete.
 */
#ifndef LT_HOP_RING_H
#define LT_HOP_RING_H

#include "lt_ring.h"
#include "lt_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program; the rows of its window; the new rows, and all rows, that a run reads; and the bytes of a row. */
typedef struct {
    const lt_program *program;
    uint16_t window;
    uint16_t hop;
    uint16_t reads;
    uint32_t row_bytes;
} lt_ring_hops;

/* The struct of an instance begins with this. */
typedef struct {
    lt_stream stream;
    const lt_ring_hops *hops; /* the program, window and hop of this instance */
    uint8_t *rows;            /* the caller's ring; null if it is not set yet */
    uint16_t count;           /* number of rows of the ring */
    uint16_t next;            /* index in the ring of the next row */
    uint16_t known;           /* rows of this window that have come, at most those that a run reads */
    uint16_t left;            /* rows to give before the next outputs */
    uint16_t due;             /* rows to give before the next run */
    uint16_t warm;            /* 1 if a complete window is known: the next rows replace its oldest rows */
    lt_ring ring;
} lt_hop_ring;

/* Set the address of the ring, and which of its `count` rows comes next. A new window begins. */
int lt_hop_ring_set(const lt_ring_hops *hops, void *net, void *rows, int count, int next);

/* These functions do the same as those of lt_hop.h, with these differences. The next row goes to the next
 * row of the ring. Without a callback, lt_hop_ring_invoke takes the rows that it needs from the ring, and
 * fails if the ring does not have that many. To give rows without a ring is an error. */
int lt_hop_ring_reset(const lt_ring_hops *hops, void *net);
int lt_hop_ring_begin(const lt_ring_hops *hops, void *net);
int lt_hop_ring_invoke(const lt_ring_hops *hops, void *net);
void *lt_hop_ring_next_row(const lt_ring_hops *hops, void *net);
int lt_hop_ring_row_done(const lt_ring_hops *hops, void *net);
int lt_hop_ring_push_rows(const lt_ring_hops *hops, void *net, const void *rows, int n);

/* For lt_hop_ring_slice.c: take a row that is in the ring already, without a run; and begin a run. */
void lt_hop_ring_take(const lt_ring_hops *hops, void *net);
void lt_hop_ring_start(const lt_ring_hops *hops, void *net);

/* Ask the callback, if there is one, for the next row. If a row is missing, this abandons the window. */
int lt_hop_ring_pull(const lt_ring_hops *hops, void *net);

#ifdef __cplusplus
}
#endif

#endif
