/* Listens to a file of 16-bit samples at 16 kHz, with one channel and no header. Prints the network's outputs
 * at each hop of the window, and at the end the RAM that the program uses. It runs on a computer, or on a
 * board that can read a file (../wake_word/board/start.c).
 *
 * The network has no state: it takes a whole window. The generated program keeps what stays the same when the
 * window moves on, and computes the rest.
 */
#include <stdio.h>
#include <string.h>

#include "front.h"
#include "stack.h"
#include "wake.h"

#define NEW_SAMPLES 160                 /* 10 ms: the front end makes one row of features of them */
#define FRAME (FRONT_INPUT_0_BYTES / 2) /* samples for the front end: new ones, and old ones if it needs them */

#if WAKE_INPUT_0_ROW_BYTES != FRONT_OUTPUT_0_BYTES
#error "a row of the window must be a row of features"
#endif

/* The size of the larger arena: between hops, the network needs only its state. */
static union {
    uint8_t front[FRONT_ARENA_SIZE];
    uint8_t wake[WAKE_ARENA_SIZE];
} arena __attribute__((aligned(16)));

static uint8_t front_state[FRONT_STATE_SIZE] __attribute__((aligned(FRONT_STATE_ALIGN)));
static uint8_t wake_state[WAKE_STATE_SIZE] __attribute__((aligned(WAKE_STATE_ALIGN)));

static front_t front;
static wake_t wake;

static int16_t frame[FRAME];
static int8_t rows[WAKE_HOP_ROWS * WAKE_INPUT_0_ROW_BYTES]; /* of features, for the next hop */
static int filled;                                          /* how many of these rows are there */

static int start(void)
{
    const int status = front_init(&front, &arena, sizeof arena, front_state, sizeof front_state);
    return status != LT_OK ? status
                           : wake_init(&wake, &arena, sizeof arena, wake_state, sizeof wake_state);
}

/* Make the next row of features from `frame`. */
static int hear_row(void)
{
    memcpy(front_input(&front, 0), frame, sizeof frame);
    const int status = front_invoke(&front);
    if (status == LT_OK) {
        memcpy(rows + filled * WAKE_INPUT_0_ROW_BYTES, front_output(&front, 0), WAKE_INPUT_0_ROW_BYTES);
        filled++;
    }
    return status;
}

/* Return 1 if a window's outputs are ready, 0 if the network needs more rows, or a negative status code. */
static int hear(void)
{
    int status = hear_row();
    if (wake_rows_wanted(&wake) == 0 && status == LT_OK) { /* the next window */
        status = wake_begin(&wake);
    }
    /* The first window may not be a whole number of hops. Its rest comes first. */
    const int rest = wake_rows_wanted(&wake) % WAKE_HOP_ROWS;
    if (status != LT_OK || filled < (rest != 0 ? rest : WAKE_HOP_ROWS)) {
        return status;
    }
    status = wake_push_rows(&wake, rows, filled);
    filled = 0;
    return status != LT_OK ? status : wake_rows_wanted(&wake) == 0;
}

static int listen_to(FILE *file)
{
    const WAKE_OUTPUT_0_TYPE *said;
    unsigned stack = 0;
    int status = start();
    int16_t *const sound = frame + (FRAME - NEW_SAMPLES);
    for (unsigned n = 1; status >= 0 && fread(sound, NEW_SAMPLES * sizeof *sound, 1, file) == 1; n++) {
        stack_paint();
        status = hear();
        const unsigned used = stack_used();
        stack = used > stack ? used : stack;
        memmove(frame, frame + NEW_SAMPLES, sizeof frame - NEW_SAMPLES * sizeof *sound);
        if (status > 0) {
            said = wake_output(&wake, 0);
            printf("%5u ms:", 10 * n);
            for (int i = 0; i < WAKE_OUTPUT_0_ELEMENTS; i++) {
                printf(" %3d", said[i] - (WAKE_OUTPUT_0_ZERO_POINT));
            }
            printf("\n");
        }
    }
    if (status < 0) {
        printf("failed: %d\n", status);
        return 1;
    }
    const unsigned state = sizeof front_state + sizeof wake_state;
    const unsigned buffers = sizeof frame + sizeof rows + sizeof filled;
    const unsigned instances = sizeof front + sizeof wake;
    printf("arena %u B for both (%u and %u apart)\n", (unsigned)sizeof arena, FRONT_ARENA_SIZE,
           WAKE_ARENA_SIZE);
    printf("state %u B, instances %u B, sound and features %u B\n", state, instances, buffers);
    if (stack != 0) {
        printf("stack %u B, as painted\n", stack);
    }
    printf("in all %u B%s\n", (unsigned)sizeof arena + state + instances + buffers + stack,
           stack != 0 ? "" : ", and the stack");
    return 0;
}

int main(int argc, char **argv)
{
    FILE *const file = fopen(argc > 1 ? argv[1] : "sound.raw", "rb");
    if (file == NULL) {
        printf("no sound: give a file of 16-bit samples at 16 kHz\n");
        return 1;
    }
    const int status = listen_to(file);
    (void)fclose(file);
    return status;
}
