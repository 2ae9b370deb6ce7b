/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slice_stream.c: runs in slices that exchange rows. See lt_slice_stream.h. */
#include "lt_slice_stream.h"

LT_SHARED int lt_slice_stream_exchange(const lt_program *program, void *net)
{
    const lt_stream *const stream = net;
    const lt_node *const node = &program->nodes[stream->at.node];
    void *const row = lt_row(program, &stream->at, net);
    if (node->kind == LT_TAKE) {
        return stream->take(stream->take_context, node->scratch, stream->at.row, row);
    }
    return stream->pull(stream->pull_context, node->scratch, stream->at.row, row);
}

LT_SHARED int lt_slice_stream_invoke(const lt_sliced *sliced, void *net, uint32_t budget)
{
    const lt_program *const program = sliced->program;
    lt_stream *const stream = net;
    if ((net == NULL) || (*(void **)(void *)((char *)net + program->bases) == NULL) ||
        ((program->exchanges & LT_TAKES) && (stream->take == NULL)) ||
        ((program->exchanges & LT_GIVES) && (stream->pull == NULL))) {
        return LT_ERROR_ARGUMENT;
    }
    if (stream->wanted > 0) { /* rows were to be pushed */
        stream->wanted = 0;
        stream->at.node = LT_NONE;
    }
    return lt_slice_run(sliced, &stream->at, net, budget);
}
