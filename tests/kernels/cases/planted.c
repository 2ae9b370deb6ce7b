/* Kernels with a fault each: the cases must find them. Params are the number of bytes of a row. */
#include <stdint.h>
#include <string.h>

#include "lowtide.h"

#define BYTES (*(const uint32_t *)params)
#define KERNEL(name, fault)                              \
    void planted_##name(const void *params, const lt_step *step) \
    {                                                    \
        const volatile uint8_t *in = step->in[0];        \
        volatile uint8_t *out = step->out[0];            \
        volatile int32_t *scratch = step->scratch;       \
        memcpy(step->out[0], step->in[0], BYTES);        \
        (void)in, (void)out, (void)scratch;              \
        fault;                                           \
    }

KERNEL(none, (void)0)
KERNEL(overflows, scratch[0] = INT32_MAX - 1 + (int32_t)BYTES)
KERNEL(wrong, out[0] ^= 1)
KERNEL(short, out[BYTES - 1] = 0xA5)
KERNEL(reads_after, (void)in[BYTES])
KERNEL(reads_before, (void)in[-1])
KERNEL(writes_after, out[BYTES] = 1)
KERNEL(writes_before, out[-1] = 1)
KERNEL(changes_input, ((volatile uint8_t *)in)[0] ^= 1)
KERNEL(scratch, scratch[2] = 1)
