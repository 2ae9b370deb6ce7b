/* Listens to a file: 16-bit samples at 16 kHz, one channel, no header. Prints what the network says at every
 * hop of its window, and then what it took. On a computer, or on a board that can read a file
 * (../wake_word/board/start.c).
 *
 * The network is an ordinary one, without state: it was made for the whole window. What of it stays the same
 * while the window moves on is kept by the program that lowtide made.
 */
#include <stdio.h>
#include <string.h>

#include "front.h"
#include "stack.h"
#include "wake.h"

#define NEW_SAMPLES 160                 /* 10 ms, of which the front end makes a row of features */
#define FRAME (FRONT_INPUT_0_BYTES / 2) /* samples that the front end takes: new ones, or with old ones */

#if WAKE_INPUT_0_ROW_BYTES != FRONT_OUTPUT_0_BYTES
#error "a row of the window is to be a row of features"
#endif

/* As large as the needier of them, and as well aligned: between two hops, the network needs its state alone. */
static union {
    uint8_t front[FRONT_ARENA_SIZE];
    uint8_t wake[WAKE_ARENA_SIZE];
} arena __attribute__((aligned(16)));

static uint8_t front_state[FRONT_STATE_SIZE] __attribute__((aligned(FRONT_STATE_ALIGN)));
static uint8_t wake_state[WAKE_STATE_SIZE] __attribute__((aligned(WAKE_STATE_ALIGN)));

static front_t front;
static wake_t wake;

static int16_t frame[FRAME];
static int8_t rows[WAKE_HOP_ROWS * WAKE_INPUT_0_ROW_BYTES]; /* of the next hop */
static int filled;                                          /* of them */

static int start(void)
{
    const int status = front_init(&front, &arena, sizeof arena, front_state, sizeof front_state);
    return status != LT_OK ? status
                           : wake_init(&wake, &arena, sizeof arena, wake_state, sizeof wake_state);
}

/* The next row of features, of the last samples of `frame`. */
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

/* 1 if there are outputs of a window, 0 if more rows are wanted, below 0 for a status code. */
static int hear(void)
{
    int status = hear_row();
    if (wake_rows_wanted(&wake) == 0 && status == LT_OK) { /* the next window */
        status = wake_begin(&wake);
    }
    /* Of the first window, what is left over when it is parted into hops comes first. */
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
