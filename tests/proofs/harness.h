/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h: one contract, for a model checker and for random values.
 *
 * A harness is a function `harness` that takes ANY values, ASSUMEs what callers promise (contracts.h, from
 * contracts.toml), and CHECKs what the helper promises. CBMC tries all values. Compiled as C, it is called with
 * random values, many of them at the ends of ranges, until enough were as assumed. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdint.h>

#ifdef __CPROVER__
#define ANY(type, name) type name /* no value: any */
#define ASSUME(condition) __CPROVER_assume(condition)
#define CHECK(condition) __CPROVER_assert(condition, #condition)
#else
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t harness_state = 1;

static uint64_t harness_bits(void)
{
    harness_state = harness_state * 6364136223846793005u + 1442695040888963407u;
    return harness_state ^ (harness_state >> 29);
}

/* Of few bits or of many, near a power of two or anywhere. */
static uint64_t harness_value(void)
{
    uint64_t bits = harness_bits();
    switch (bits >> 61) {
    case 0:
        return (uint64_t)(int64_t)(int8_t)(bits >> 8);
    case 1:
        return ((uint64_t)1 << (bits >> 8) % 64) + (bits >> 20) % 5 - 2;
    case 2:
        return 0 - ((uint64_t)1 << (bits >> 8) % 64) + (bits >> 20) % 5 - 2;
    case 3:
        return (uint64_t)(int64_t)(int32_t)harness_bits() >> (bits >> 8) % 32;
    default:
        return harness_bits();
    }
}

/* The bytes of a value, which may be a double. */
static void harness_any(void *into, size_t size)
{
    uint64_t value = harness_value();
    memcpy(into, &value, size);
}

#define ANY(type, name)                                                                              \
    type name;                                                                                       \
    harness_any(&name, sizeof name)
#define ASSUME(condition)                                                                            \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            return 0;                                                                                \
        }                                                                                            \
    } while (0)
#define CHECK(condition)                                                                             \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            printf("line %d: %s\n", __LINE__, #condition);                                           \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static int harness(void);

int main(int argc, char *argv[])
{
    long wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, tries = 0;
    harness_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (long found = 0; found < wanted; found += harness()) {
        if (++tries > 1000 * wanted + 1000000) {
            printf("only %ld of %ld values are as assumed\n", found, tries);
            return 1;
        }
    }
    return 0;
}
#endif

#endif
