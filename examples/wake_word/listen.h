/* listen.h: sound in, probabilities of a wake word and of a voice out; see listen.c. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdint.h>

#define LISTEN_SAMPLES 160 /* of one channel at 16 kHz: 10 ms */

/* What the networks said last; 255 is certainty. */
typedef struct {
    uint8_t wake, voice;
    uint8_t is_awake; /* the wake word was heard, and it was a voice */
} listen_result;

/* Bytes of RAM that listening takes, the stack aside. */
typedef struct {
    unsigned arena, front_arena, wake_arena, voice_arena;
    unsigned state, instances, buffers;
} listen_ram;

/* Begins anew. Returns 0, or a status code of the networks. */
int listen_start(void);

/* Hears the next 10 ms. Returns 1 if the networks ran, which is every third time or so, and `result` is
 * new; 0 if they wait for more; below 0 for a status code. */
int listen_hear(const int16_t sound[LISTEN_SAMPLES], listen_result *result);

listen_ram listen_needs(void);

#endif
