/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_ring.c: windows that slide in the caller's ring. See lt_hop_ring.h. */
#include "lt_hop_ring.h"

#include <string.h>

#include "lt_walk_ring.h"

LT_SHARED int lt_hop_ring_set(const lt_ring_hops *hops, void *net, void *rows, int count, int next)
{
    lt_hop_ring *const m = net;
    if ((net == NULL) || (rows == NULL) || (count < hops->reads) || (count > 0xFFFF) || (next < 0) ||
        (next >= count)) {
        return LT_ERROR_ARGUMENT;
    }
    m->rows = rows;
    m->count = (uint16_t)count;
    m->next = (uint16_t)next;
    return lt_hop_ring_reset(hops, net);
}

LT_SHARED int lt_hop_ring_reset(const lt_ring_hops *hops, void *net)
{
    lt_hop_ring *const m = net;
    if (net == NULL) {
        return LT_ERROR_ARGUMENT;
    }
    m->left = 0;
    m->warm = 0;
    return lt_hop_ring_begin(hops, net);
}

LT_SHARED int lt_hop_ring_begin(const lt_ring_hops *hops, void *net)
{
    lt_hop_ring *const m = net;
    const int status = lt_stream_begin(hops->program, net);
    if (status != LT_OK) {
        return status;
    }
    m->hops = hops;
    m->left = m->warm ? hops->hop : hops->window;
    m->due = (uint16_t)(((m->left - 1) % hops->hop) + 1);
    if (!m->warm) {
        m->known = 0;
    }
    return LT_OK;
}

LT_SHARED void *lt_hop_ring_next_row(const lt_ring_hops *hops, void *net)
{
    const lt_hop_ring *const m = net;
    if ((net == NULL) || (m->left == 0) || (m->rows == NULL) || (m->stream.at.node != LT_NONE)) {
        return NULL;
    }
    return m->rows + (m->next * hops->row_bytes);
}

LT_SHARED void lt_hop_ring_take(const lt_ring_hops *hops, void *net)
{
    lt_hop_ring *const m = net;
    m->next = (uint16_t)((m->next + 1) % m->count);
    m->known = (uint16_t)(m->known + (m->known < hops->reads));
    m->left--;
    m->due--;
    m->warm = m->left == 0; /* a run that is given up lacks rows */
}

LT_SHARED void lt_hop_ring_start(const lt_ring_hops *hops, void *net)
{
    lt_hop_ring *const m = net;
    uint8_t **const bases = bases_of(hops->program, net);
    const uint32_t behind = (m->next < hops->reads) ? m->count : 0U;
    const uint32_t oldest = m->next + behind - hops->reads;
    m->due = hops->hop;
    m->ring.size = m->count * hops->row_bytes;
    m->ring.room = (m->count - oldest) * hops->row_bytes;
    m->ring.first = (uint32_t)(hops->reads - m->known) * hops->row_bytes;
    bases[LT_RING_BASE] = m->rows + (oldest * hops->row_bytes);
    bases[LT_RING_BASE + 1] = (uint8_t *)&m->ring;
    lt_start(hops->program, &m->stream.at, net);
}

LT_SHARED int lt_hop_ring_row_done(const lt_ring_hops *hops, void *net)
{
    if (lt_hop_ring_next_row(hops, net) == NULL) {
        return LT_ERROR_ARGUMENT;
    }
    lt_hop_ring *const m = net;
    lt_hop_ring_take(hops, net);
    if (m->due == 0) {
        lt_hop_ring_start(hops, net);
        walk_ring(hops->program, &m->stream.at, net);
    }
    return LT_OK;
}

LT_SHARED int lt_hop_ring_pull(const lt_ring_hops *hops, void *net)
{
    lt_hop_ring *const m = net;
    void *const row = lt_hop_ring_next_row(hops, net);
    int status = LT_OK;
    if ((row == NULL) || ((m->stream.pull == NULL) && (m->left > m->count))) { /* not all can be there */
        status = LT_ERROR_ARGUMENT;
    } else if (m->stream.pull != NULL) {
        status = m->stream.pull(m->stream.pull_context, 0, hops->window - m->left, row);
    } else {
        /* it is there */
    }
    if (status != LT_OK) {
        m->left = 0;
        m->warm = 0;
    }
    return status;
}

LT_SHARED int lt_hop_ring_invoke(const lt_ring_hops *hops, void *net)
{
    const lt_hop_ring *const m = net;
    if (net == NULL) {
        return LT_ERROR_ARGUMENT;
    }
    int status = lt_hop_ring_begin(hops, net);
    while ((status == LT_OK) && (m->left > 0)) {
        status = lt_hop_ring_pull(hops, net);
        if (status == LT_OK) {
            status = lt_hop_ring_row_done(hops, net);
        }
    }
    return status;
}

LT_SHARED int lt_hop_ring_push_rows(const lt_ring_hops *hops, void *net, const void *rows, int n)
{
    const lt_hop_ring *const m = net;
    const uint8_t *from = rows;
    if ((net == NULL) || (rows == NULL) || (n < 0)) {
        return LT_ERROR_ARGUMENT;
    }
    if (n > ((m->left > 0) ? m->left : m->warm ? hops->hop : hops->window)) {
        return LT_ERROR_ARGUMENT;
    }
    int status = ((n > 0) && (m->left == 0)) ? lt_hop_ring_begin(hops, net) : LT_OK;
    for (; (status == LT_OK) && (n > 0); n--, from += hops->row_bytes) {
        void *const row = lt_hop_ring_next_row(hops, net);
        if (row == NULL) {
            return LT_ERROR_ARGUMENT;
        }
        (void)memcpy(row, from, hops->row_bytes);
        status = lt_hop_ring_row_done(hops, net);
    }
    return status;
}
