/* SPDX-License-Identifier: Apache-2.0 */
/* lt_pair.h: how kernels of two operands go through them, with broadcast, and the loop that does this.
 */
#ifndef LT_PAIR_H
#define LT_PAIR_H

#include "lowtide.h"
#include "lt_elem.h"

/* How two operands are read for an output row of outer * inner elements. Element (o, i) is made from
 * a[o * (a_step * inner + a_next) + i * a_step], and from b in the same way. For example, b_step = 1 and
 * b_next = -inner repeat b for every o. b_step = 0 and b_next = 1 use one element of b for every o.
 * b_step = b_next = 0 use one element of b throughout.
 *
 * step->in[0], step->in[1]: the rows of a and b. step->out[0]: the output row; can be the memory of an
 *   operand that is not repeated. No scratch memory.
 */
typedef struct {
    uint32_t outer, inner;
    int32_t a_next, b_next;
    uint8_t a_step, b_step; /* 0 or 1 */
} lt_pair;

/* Makes one element of an operator's output from its params and an element of each operand. */
typedef int32_t (*lt_element)(const void *params, int32_t a, int32_t b, lt_elem type);

/* Makes an output row, of type `to`, from rows of types `of_a` and `of_b`. `op` gets of_a as its type. */
LT_INLINE void lt_run_pair(const lt_pair *p, const lt_step *step, lt_elem of_a, lt_elem of_b, lt_elem to,
                           lt_element op, const void *params)
{
    const void *first = step->in[0], *second = step->in[1]; /* copies, as stores might alias them */
    void *made = step->out[0];
    int32_t a = 0, b = 0, out = 0, a_step = p->a_step, b_step = p->b_step;
    for (uint32_t left = p->outer; left > 0; left--) {
        for (int32_t end = out + (int32_t)p->inner; out != end; out++) {
            lt_put(made, out, op(params, lt_get(first, a, of_a), lt_get(second, b, of_b), of_a), to);
            a += a_step;
            b += b_step;
        }
        a += p->a_next;
        b += p->b_next;
    }
}

/* MINIMUM and MAXIMUM. */
LT_INLINE int32_t lt_lesser(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)params;
    (void)type;
    return (a < b) ? a : b;
}

LT_INLINE int32_t lt_greater(const void *params, int32_t a, int32_t b, lt_elem type)
{
    (void)params;
    (void)type;
    return (a > b) ? a : b;
}

/* Defines a kernel from type `from` to type `to`. `struct_` begins with an lt_pair. */
#define LT_PAIR_KERNEL(name, struct_, from, to, op)                     \
    LT_SHARED void lt_##name(const void *params, const lt_step *step)   \
    {                                                                   \
        const struct_ p = *(const struct_ *)params;                     \
        lt_run_pair((const lt_pair *)&p, step, from, from, to, op, &p); \
    }

#endif
