/* listen.c: a front end and two networks that share one arena.
 *
 * Every 10 ms, the front end makes 40 features from the last 30 ms of sound. As soon as there are enough rows
 * of features, a wake word and a voice detector run on the same rows, one after the other. Each of the three
 * uses the arena while it runs, and keeps what it remembers in its own state.
 *
 * This file neither reads sound nor prints anything, so you can use it in your firmware.
 */
#include "listen.h"

#include <string.h>

#include "front.h"
#include "voice.h"
#include "wake.h"

#define FRAME (FRONT_INPUT_0_BYTES / 2) /* samples for the front end: new ones, and old ones if it needs them */
#define FEATURES FRONT_OUTPUT_0_BYTES   /* in a row */

#if WAKE_INPUT_0_BYTES != VOICE_INPUT_0_BYTES || WAKE_INPUT_0_BYTES % FRONT_OUTPUT_0_BYTES != 0
#error "both networks must take the same rows of features"
#endif

/* The mean of the last probabilities must be above a cutoff. microWakeWord's manifests use these values. */
#define WINDOW 5
#define WAKE_CUTOFF (97 * 255 / 100)
#define VOICE_CUTOFF (50 * 255 / 100)

/* The size of the largest arena, and an alignment that suits all three. */
static union {
    uint8_t front[FRONT_ARENA_SIZE];
    uint8_t wake[WAKE_ARENA_SIZE];
    uint8_t voice[VOICE_ARENA_SIZE];
} arena __attribute__((aligned(16)));

static uint8_t front_state[FRONT_STATE_SIZE] __attribute__((aligned(FRONT_STATE_ALIGN)));
static uint8_t wake_state[WAKE_STATE_SIZE] __attribute__((aligned(WAKE_STATE_ALIGN)));
static uint8_t voice_state[VOICE_STATE_SIZE] __attribute__((aligned(VOICE_STATE_ALIGN)));

static front_t front;
static wake_t wake;
static voice_t voice;

#if FRONT_INPUT_0_BYTES > 2 * LISTEN_SAMPLES
static int16_t heard[FRAME - LISTEN_SAMPLES]; /* samples that the front end needs once more */
#define HEARD_BYTES sizeof heard
#else
#define HEARD_BYTES 0
#endif

static int8_t rows[WAKE_INPUT_0_BYTES];
static unsigned filled; /* bytes of these rows that are there */

static uint8_t last_wake[WINDOW], last_voice[WINDOW];
static unsigned turn;

int listen_start(void)
{
    int status = front_init(&front, &arena, sizeof arena, front_state, sizeof front_state);
    if (status == LT_OK) {
        status = wake_init(&wake, &arena, sizeof arena, wake_state, sizeof wake_state);
    }
    if (status == LT_OK) {
        status = voice_init(&voice, &arena, sizeof arena, voice_state, sizeof voice_state);
    }
    memset(last_wake, 0, sizeof last_wake);
    memset(last_voice, 0, sizeof last_voice);
#if FRONT_INPUT_0_BYTES > 2 * LISTEN_SAMPLES
    memset(heard, 0, sizeof heard);
#endif
    filled = turn = 0;
    return status;
}

/* Make the next row of features. */
static int hear_row(const int16_t *sound)
{
    int16_t *const in = front_input(&front, 0);
#if FRONT_INPUT_0_BYTES > 2 * LISTEN_SAMPLES
    memcpy(in, heard, sizeof heard);
    memcpy(in + (FRAME - LISTEN_SAMPLES), sound, LISTEN_SAMPLES * sizeof *in);
    memcpy(heard, in + LISTEN_SAMPLES, sizeof heard);
#else
    memcpy(in, sound, LISTEN_SAMPLES * sizeof *in);
#endif
    const int status = front_invoke(&front);
    if (status == LT_OK) {
        memcpy(rows + filled, front_output(&front, 0), FEATURES);
        filled += FEATURES;
    }
    return status;
}

/* The last value of an output as 0 to 255, for any type and zero point. */
#define PROBABILITY(name, NAME)                                                                    \
    (uint8_t)(((const NAME##_OUTPUT_0_TYPE *)name##_output(&name, 0))[NAME##_OUTPUT_0_ELEMENTS - 1] - \
              (NAME##_OUTPUT_0_ZERO_POINT))

static int is_above(const uint8_t *last, unsigned cutoff)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < WINDOW; i++) {
        sum += last[i];
    }
    return sum > cutoff * WINDOW;
}

int listen_hear(const int16_t sound[LISTEN_SAMPLES], listen_result *result)
{
    int status = hear_row(sound);
    if (status != LT_OK || filled < sizeof rows) {
        return status;
    }
    filled = 0;
    memcpy(wake_input(&wake, 0), rows, sizeof rows);
    status = wake_invoke(&wake);
    if (status != LT_OK) {
        return status;
    }
    result->wake = last_wake[turn] = PROBABILITY(wake, WAKE);
    memcpy(voice_input(&voice, 0), rows, sizeof rows);
    status = voice_invoke(&voice);
    if (status != LT_OK) {
        return status;
    }
    result->voice = last_voice[turn] = PROBABILITY(voice, VOICE);
    turn = (turn + 1) % WINDOW;
    result->is_awake = is_above(last_wake, WAKE_CUTOFF) && is_above(last_voice, VOICE_CUTOFF);
    return 1;
}

listen_ram listen_needs(void)
{
    const listen_ram needs = {
        .arena = sizeof arena,
        .front_arena = FRONT_ARENA_SIZE,
        .wake_arena = WAKE_ARENA_SIZE,
        .voice_arena = VOICE_ARENA_SIZE,
        .state = sizeof front_state + sizeof wake_state + sizeof voice_state,
        .instances = sizeof front + sizeof wake + sizeof voice,
        .buffers = (unsigned)(HEARD_BYTES + sizeof rows + sizeof filled + sizeof last_wake +
                              sizeof last_voice + sizeof turn),
    };
    return needs;
}
