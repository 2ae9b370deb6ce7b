/* Three networks with state in one program. They share one arena, and each has its own state.
 *
 * The networks take turns, like two wake words and a voice detector on one microphone. Each call may
 * overwrite the whole arena. So the program writes a network's input just before its call, and reads its
 * output just after it. What a network remembers is in its state, which no other network touches.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "first.h"
#include "second.h"
#include "voice.h"

#define TURNS 210

/* The size of the largest arena, and an alignment that suits all three. */
static union {
    uint8_t first[FIRST_ARENA_SIZE];
    uint8_t second[SECOND_ARENA_SIZE];
    uint8_t voice[VOICE_ARENA_SIZE];
} arena __attribute__((aligned(16)));

static uint8_t first_state[FIRST_STATE_SIZE] __attribute__((aligned(FIRST_STATE_ALIGN)));
static uint8_t second_state[SECOND_STATE_SIZE] __attribute__((aligned(SECOND_STATE_ALIGN)));
static uint8_t voice_state[VOICE_STATE_SIZE] __attribute__((aligned(VOICE_STATE_ALIGN)));

static first_t first;
static second_t second;
static voice_t voice;

/* In place of a microphone: change each byte a little at each call. */
static void wander(uint8_t *bytes, size_t count)
{
    static uint32_t random = 1;
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525U + 1013904223U;
        bytes[i] = (uint8_t)(bytes[i] + (random >> 24) % 31U + 241U); /* add -15 to 15 */
    }
}

static void print(const char *name, const uint8_t *bytes, size_t count)
{
    printf("%s", name);
    for (size_t i = 0; i < count; i++) {
        printf(" %02x", bytes[i]);
    }
    printf("\n");
}

/* Call a network: write its input, run it, and print its output before another network uses the arena. */
#define TURN(name, NAME)                                                    \
    do {                                                                    \
        static uint8_t heard[NAME##_INPUT_0_BYTES];                         \
        wander(heard, sizeof heard);                                        \
        memcpy(name##_input(&name, 0), heard, sizeof heard);                \
        if (name##_invoke(&name) != 0) {                                    \
            return 1;                                                       \
        }                                                                   \
        print(#name, name##_output(&name, 0), NAME##_OUTPUT_0_BYTES);       \
    } while (0)

int main(void)
{
    if (first_init(&first, &arena, sizeof arena, first_state, sizeof first_state) != 0 ||
        second_init(&second, &arena, sizeof arena, second_state, sizeof second_state) != 0 ||
        voice_init(&voice, &arena, sizeof arena, voice_state, sizeof voice_state) != 0) {
        return 1;
    }
    for (int n = 0; n < TURNS / 3; n++) {
        TURN(first, FIRST);
        TURN(second, SECOND);
        TURN(voice, VOICE);
    }
    const unsigned states = FIRST_STATE_SIZE + SECOND_STATE_SIZE + VOICE_STATE_SIZE;
    const unsigned instances = sizeof first + sizeof second + sizeof voice;
    printf("arena %u B for all three (%u, %u and %u apart)\n", (unsigned)sizeof arena,
           (unsigned)FIRST_ARENA_SIZE, (unsigned)SECOND_ARENA_SIZE, (unsigned)VOICE_ARENA_SIZE);
    printf("state %u B (%u, %u and %u)\n", states, (unsigned)FIRST_STATE_SIZE,
           (unsigned)SECOND_STATE_SIZE, (unsigned)VOICE_STATE_SIZE);
    printf("instances %u B, with this computer's pointers\n", instances);
    printf("in all %u B, and the stack\n", (unsigned)sizeof arena + states + instances);
    return 0;
}
