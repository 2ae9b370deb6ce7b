/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop.c: windows that slide. See lt_hop.h. */
#include "lt_hop.h"

#include <string.h>

LT_SHARED int lt_hop_reset(const lt_hops *hops, void *net)
{
    lt_hop *const m = net;
    if (net == NULL) {
        return LT_ERROR_ARGUMENT;
    }
    m->left = 0;
    m->warm = 0;
    return lt_hop_begin(hops, net);
}

LT_SHARED int lt_hop_begin(const lt_hops *hops, void *net)
{
    lt_hop *const m = net;
    const int status = lt_stream_begin(hops->program, net);
    if (status != LT_OK) {
        return status;
    }
    m->hops = hops;
    m->left = m->warm ? hops->hop : hops->window;
    m->zeros = (uint16_t)((hops->hop - (m->left % hops->hop)) % hops->hop);
    return LT_OK;
}

/* Where the next row goes, of zeros or given; null if there is none. */
static void *next(const lt_hops *hops, void *net)
{
    const lt_hop *const m = net;
    if (m->stream.wanted == 0) { /* a run ended, and its outputs are of no window */
        if (m->stream.at.node != LT_NONE) { /* or slices of one are under way */
            return NULL;
        }
        (void)lt_stream_begin(hops->program, net);
    }
    return lt_stream_next_row(hops->program, net);
}

LT_SHARED void *lt_hop_next_row(const lt_hops *hops, void *net)
{
    lt_hop *const m = net;
    if ((net == NULL) || (m->left == 0)) {
        return NULL;
    }
    for (; m->zeros > 0; m->zeros--) {
        void *const row = next(hops, net);
        if (row == NULL) {
            return NULL;
        }
        (void)memset(row, 0, hops->row_bytes);
        (void)lt_stream_row_done(hops->program, net);
    }
    return next(hops, net);
}

LT_SHARED int lt_hop_row_done(const lt_hops *hops, void *net)
{
    lt_hop *const m = net;
    if ((net == NULL) || (m->left == 0)) {
        return LT_ERROR_ARGUMENT;
    }
    const int status = lt_stream_row_done(hops->program, net);
    if (status == LT_OK) {
        m->left--;
        m->warm = m->left == 0; /* a run that is given up lacks rows */
    }
    return status;
}

LT_SHARED int lt_hop_invoke(const lt_hops *hops, void *net)
{
    lt_hop *const m = net;
    if ((net == NULL) || (m->stream.pull == NULL)) {
        return LT_ERROR_ARGUMENT;
    }
    int status = lt_hop_begin(hops, net);
    while ((status == LT_OK) && (m->left > 0)) {
        void *const row = lt_hop_next_row(hops, net);
        status = (row == NULL) ? LT_ERROR_ARGUMENT
                             : m->stream.pull(m->stream.pull_context, 0, hops->window - m->left, row);
        if (status == LT_OK) {
            status = lt_hop_row_done(hops, net);
        }
    }
    if (status != LT_OK) {
        m->left = 0;
        m->warm = 0;
    }
    return status;
}

LT_SHARED int lt_hop_push_rows(const lt_hops *hops, void *net, const void *rows, int n)
{
    lt_hop *const m = net;
    const uint8_t *from = rows;
    if ((net == NULL) || (rows == NULL) || (n < 0)) {
        return LT_ERROR_ARGUMENT;
    }
    if (n > ((m->left > 0) ? m->left : m->warm ? hops->hop : hops->window)) {
        return LT_ERROR_ARGUMENT;
    }
    int status = ((n > 0) && (m->left == 0)) ? lt_hop_begin(hops, net) : LT_OK;
    for (; (status == LT_OK) && (n > 0); n--, from += hops->row_bytes) {
        void *const row = lt_hop_next_row(hops, net);
        if (row == NULL) {
            return LT_ERROR_ARGUMENT;
        }
        (void)memcpy(row, from, hops->row_bytes);
        status = lt_hop_row_done(hops, net);
    }
    return status;
}
