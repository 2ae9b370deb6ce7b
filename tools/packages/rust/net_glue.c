/* SPDX-License-Identifier: Apache-2.0 */
/* One instance and its arena in C, so that Rust needs to know neither's size. */
#include "net.h"

static net_t net;
static uint8_t arena[NET_ARENA_SIZE] NET_ARENA_PLACED;

int net_glue_init(void);
int8_t *net_glue_input(void);
const int8_t *net_glue_run(void);
const size_t net_glue_sizes[] = {NET_INPUT_0_ELEMENTS, NET_OUTPUT_0_ELEMENTS};

int net_glue_init(void)
{
    return net_init(&net, arena, sizeof arena);
}

int8_t *net_glue_input(void)
{
    return net_input(&net, 0);
}

const int8_t *net_glue_run(void)
{
    return net_invoke(&net) == LT_OK ? net_output(&net, 0) : NULL;
}
