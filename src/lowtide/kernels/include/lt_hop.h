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

/* A program, rows of its window, rows that each run takes, and bytes of a row. */
typedef struct {
    const lt_program *program;
    uint16_t window;
    uint16_t hop;
    uint32_t row_bytes;
} lt_hops;

/* The struct of an instance begins with this. */
typedef struct {
    lt_stream stream;
    const lt_hops *hops; /* what it is an instance of */
    uint16_t left; /* rows up to the next outputs */
    uint16_t zeros; /* rows of zeros before them */
    uint16_t warm; /* whether the rows of a window are known, the oldest of which leave it next */
} lt_hop;

/* The same as in lt_stream.h, with one difference: the caller gives rows of the window, by their numbers in
 * the window. These are all rows at first and after a reset, and then the last `hop` rows. Aborting a run
 * is a reset. */
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
