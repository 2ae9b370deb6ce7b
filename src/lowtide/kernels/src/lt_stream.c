/* SPDX-License-Identifier: Apache-2.0 */
/* lt_stream.c: runs that stop for rows which the caller gives or takes. See lt_stream.h. */
#include "lt_stream.h"

#include <string.h>

static int set_up(const lt_program *program, void *net)
{
    return (net != NULL) && (*(void **)(void *)((char *)net + program->bases) != NULL);
}

/* Whether the instance is set up, and has someone to take what it makes. */
static int ready(const lt_program *program, void *net)
{
    const lt_stream *const stream = net;
    return set_up(program, net) && (!(program->exchanges & LT_TAKES) || (stream->take != NULL));
}

LT_SHARED int lt_stream_set_pull(void *net, lt_pull pull, void *context)
{
    lt_stream *const stream = net;
    if ((net == NULL) || (pull == NULL)) {
        return LT_ERROR_ARGUMENT;
    }
    stream->pull = pull;
    stream->pull_context = context;
    return LT_OK;
}

LT_SHARED int lt_stream_set_take(void *net, lt_take take, void *context)
{
    lt_stream *const stream = net;
    if ((net == NULL) || (take == NULL)) {
        return LT_ERROR_ARGUMENT;
    }
    stream->take = take;
    stream->take_context = context;
    return LT_OK;
}

/* Run to the end, or, unless rows are to be `pulled`, to the next row that the caller gives. */
static int go_on(const lt_program *program, void *net, int pulled)
{
    lt_stream *const stream = net;
    int status = LT_OK;
    if (stream->at.node == LT_NONE) {
        lt_start(program, &stream->at, net);
    }
    while ((status == LT_OK) && lt_run(program, &stream->at, net)) {
        const lt_node *const node = &program->nodes[stream->at.node];
        void *const row = lt_row(program, &stream->at, net);
        if (node->kind == LT_TAKE) {
            status = stream->take(stream->take_context, node->scratch, stream->at.row, row);
        } else if (pulled != 0) {
            status = stream->pull(stream->pull_context, node->scratch, stream->at.row, row);
        } else {
            return LT_OK;
        }
    }
    stream->at.node = LT_NONE;
    stream->wanted = 0;
    return status;
}

/* Run to the first row, if a run has begun and did not come that far. */
static int reach_row(const lt_program *program, void *net)
{
    const lt_stream *const stream = net;
    return ((stream->wanted > 0) && (stream->at.node == LT_NONE)) ? go_on(program, net, 0) : LT_OK;
}

LT_SHARED int lt_stream_begin(const lt_program *program, void *net)
{
    lt_stream *const stream = net;
    if (!set_up(program, net)) {
        return LT_ERROR_ARGUMENT;
    }
    stream->at.node = LT_NONE;
    stream->wanted = program->row_count;
    return LT_OK;
}

LT_SHARED int lt_stream_invoke(const lt_program *program, void *net)
{
    lt_stream *const stream = net;
    if (!ready(program, net) || ((program->exchanges & LT_GIVES) && (stream->pull == NULL))) {
        return LT_ERROR_ARGUMENT;
    }
    stream->at.node = LT_NONE;
    return go_on(program, net, 1);
}

LT_SHARED void *lt_stream_next_row(const lt_program *program, void *net)
{
    const lt_stream *const stream = net;
    if (!ready(program, net) || (reach_row(program, net) != LT_OK) || (stream->wanted == 0)) {
        return NULL;
    }
    return lt_row(program, &stream->at, net);
}

LT_SHARED int lt_stream_row_done(const lt_program *program, void *net)
{
    lt_stream *const stream = net;
    if (!ready(program, net) || (stream->wanted == 0) || (stream->at.node == LT_NONE)) {
        return LT_ERROR_ARGUMENT;
    }
    stream->wanted--;
    return go_on(program, net, 0);
}

LT_SHARED int lt_stream_push_rows(const lt_program *program, void *net, const void *rows, int n,
                                  size_t bytes)
{
    lt_stream *const stream = net;
    const uint8_t *from = rows;
    if (!ready(program, net) || (rows == NULL) || (n < 0) ||
        (n > ((stream->wanted > 0) ? stream->wanted : program->row_count))) {
        return LT_ERROR_ARGUMENT;
    }
    if ((n > 0) && (stream->wanted == 0)) {
        (void)lt_stream_begin(program, net);
    }
    int status = LT_OK;
    for (; (status == LT_OK) && (n > 0); n--) {
        status = reach_row(program, net);
        if (status == LT_OK) {
            (void)memcpy(lt_stream_next_row(program, net), from, bytes);
            from += bytes;
            status = lt_stream_row_done(program, net);
        }
    }
    return status;
}
