/* Listens to a file of 16-bit samples at 16 kHz, with one channel and no header. Prints the networks'
 * outputs, and at the end the RAM that the program uses. It runs on a computer, or on a board that can read a file
 * (board/start.c).
 */
#include <stdio.h>

#include "listen.h"
#include "stack.h"

static int listen_to(FILE *file)
{
    static int16_t sound[LISTEN_SAMPLES];
    listen_result result = {0, 0, 0};
    unsigned stack = 0;
    int was_awake = 0;
    int status = listen_start();
    for (unsigned n = 1; status >= 0 && fread(sound, sizeof sound, 1, file) == 1; n++) {
        stack_paint();
        status = listen_hear(sound, &result);
        const unsigned used = stack_used();
        stack = used > stack ? used : stack;
        if (status > 0) {
            printf("%5u ms: wake word %3d, voice %3d%s\n", 10 * n, result.wake, result.voice,
                   result.is_awake && !was_awake ? ", awake" : "");
            was_awake = result.is_awake;
        }
    }
    if (status < 0) {
        printf("failed: %d\n", status);
        return 1;
    }
    const listen_ram ram = listen_needs();
    const unsigned all = ram.arena + ram.state + ram.instances + ram.buffers + stack;
    printf("arena %u B for all three (%u, %u and %u apart)\n", ram.arena, ram.front_arena,
           ram.wake_arena, ram.voice_arena);
    printf("state %u B, instances %u B, features and probabilities %u B\n", ram.state, ram.instances,
           ram.buffers);
    if (stack != 0) {
        printf("stack %u B, as painted\n", stack);
    }
    printf("in all %u B%s\n", all, stack != 0 ? "" : ", and the stack");
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
