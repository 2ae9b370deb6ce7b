/* Sound from main/sound.raw, which is part of the program: again and again, as fast as it is heard. */
#include <string.h>

#include "sound.h"

extern const uint8_t sound_begin[] __asm__("_binary_sound_raw_start");
extern const uint8_t sound_end[] __asm__("_binary_sound_raw_end");

static const uint8_t *at;

int sound_start(void)
{
    at = sound_begin;
    return 0;
}

int sound_next(int16_t *sound, int count)
{
    const size_t bytes = (size_t)count * sizeof *sound;
    if ((size_t)(sound_end - at) < bytes) {
        at = sound_begin;
    }
    if ((size_t)(sound_end - at) < bytes) {
        return 1;
    }
    memcpy(sound, at, bytes);
    at += bytes;
    return 0;
}
