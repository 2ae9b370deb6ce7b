/* listen.h: takes sound, and gives probabilities of a wake word and of a voice. See listen.c. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdint.h>

#define LISTEN_SAMPLES 160 /* 10 ms of one channel at 16 kHz */

/* The networks' latest outputs; 255 means certain. */
typedef struct {
    uint8_t wake, voice;
    uint8_t is_awake; /* whether a voice said the wake word */
} listen_result;

/* The bytes of RAM that listening uses, without the stack. */
typedef struct {
    unsigned arena, front_arena, wake_arena, voice_arena;
    unsigned state, instances, buffers;
} listen_ram;

/* Start, or start again. Return 0, or a status code of the networks. */
int listen_start(void);

/* Take the next 10 ms of sound. Return 1 if the networks ran and `result` is new, which is about every third
 * call; 0 if they need more sound; or a negative status code. */
int listen_hear(const int16_t sound[LISTEN_SAMPLES], listen_result *result);

listen_ram listen_needs(void);

#endif
