/* SPDX-License-Identifier: Apache-2.0 */
/* lt_slide.c: see lt_slide.h. */
#include "lt_slide.h"

#include <string.h>

LT_SHARED void lt_slide_buffer(const void *params, const lt_step *step)
{
    const lt_slide *p = params;
    memmove(step->out[0], step->in[0], p->bytes);
}
