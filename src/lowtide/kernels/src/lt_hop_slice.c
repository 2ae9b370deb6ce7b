/* SPDX-License-Identifier: Apache-2.0 */
/* lt_hop_slice.c: windows that slide, in slices. See lt_hop_slice.h. */
#include "lt_hop_slice.h"

#include <string.h>

LT_SHARED int lt_hop_slice_exchange(const lt_program *program, void *net)
{
    lt_hop *const m = net;
    const lt_hops *const hops = m->hops;
    void *const row = lt_row(program, &m->stream.at, net);
    if (m->zeros > 0) {
        m->zeros--;
        (void)memset(row, 0, hops->row_bytes);
        return LT_OK;
    }
    const int at = hops->window - m->left;
    m->left--;
    m->warm = 0; /* a run that is given up lacks rows */
    return m->stream.pull(m->stream.pull_context, 0, at, row);
}

LT_SHARED int lt_hop_slice_invoke(const lt_hops *hops, const lt_sliced *sliced, void *net,
                                  uint32_t budget)
{
    lt_hop *const m = net;
    if ((net == NULL) || (m->stream.pull == NULL)) {
        return LT_ERROR_ARGUMENT;
    }
    const int pushed = m->stream.wanted > 0;
    if (pushed || ((m->left == 0) && (m->stream.at.node == LT_NONE))) { /* a new window */
        const int status = lt_hop_begin(hops, net);
        if (status != LT_OK) {
            return status;
        }
        m->stream.wanted = 0;
    }
    const int status = lt_slice_run(sliced, &m->stream.at, net, budget);
    if (status == LT_OK) {
        m->warm = m->left == 0;
        return (m->left == 0) ? LT_OK : LT_MORE;
    }
    if (status != LT_MORE) { /* the callback gave up */
        m->left = 0;
        m->warm = 0;
    }
    return status;
}
