/* Listens, and says when it hears its word. */
#include <stdio.h>

#include "listen.h"
#include "sound.h"

void app_main(void);

void app_main(void)
{
    static int16_t sound[LISTEN_SAMPLES];
    listen_result result = {0, 0, 0};
    int was_awake = 0;
    int status = sound_start() != 0 ? -1 : listen_start();
    while (status >= 0 && sound_next(sound, LISTEN_SAMPLES) == 0) {
        status = listen_hear(sound, &result);
        if (status > 0 && result.is_awake && !was_awake) {
            printf("awake: wake word %d, voice %d\n", result.wake, result.voice);
        }
        was_awake = result.is_awake;
    }
    printf("no more sound (%d)\n", status);
}
