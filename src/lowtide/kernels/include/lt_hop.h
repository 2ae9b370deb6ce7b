/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop.h: sliding windows. The caller gives the whole first window, and then only the new rows.
 *
 * A run of the program takes `hop` rows and keeps what the next run needs. The first window takes several
 * runs, until all of its rows are given; only the outputs of the last one count. If the window is not a
 * multiple of the hop, they begin with rows of zeros, which have no effect once the window is complete.
 */
#ifndef LT_HOP_H
#define LT_HOP_H

#include "lt_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program, the number of rows of its window, of new rows per run, and of bytes per row. */
typedef struct {
    const lt_program *program;
    uint16_t window;
    uint16_t hop;
    uint32_t row_bytes;
} lt_hops;

/* The struct of an instance begins with this. */
typedef struct {
    lt_stream stream;
    const lt_hops *hops; /* the program, window and hop of this instance */
    uint16_t left; /* rows to give before the next outputs */
    uint16_t zeros; /* rows of zeros that come before them */
    uint16_t warm; /* 1 if a complete window is known: the next rows replace its oldest rows */
} lt_hop;

/* These functions do the same as those of lt_stream.h, with one difference: the caller gives rows by their
 * numbers in the window. At first, and after a reset, these are all rows of the window. Later, they are the
 * last `hop` rows. Aborting a run resets the instance. */
int lt_hop_reset(const lt_hops *hops, void *net);
int lt_hop_begin(const lt_hops *hops, void *net);
int lt_hop_invoke(const lt_hops *hops, void *net);
void *lt_hop_next_row(const lt_hops *hops, void *net);
int lt_hop_row_done(const lt_hops *hops, void *net);
int lt_hop_push_rows(const lt_hops *hops, void *net, const void *rows, int n);

#ifdef __cplusplus
}
#endif

#endif
