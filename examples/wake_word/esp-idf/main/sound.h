/* sound.h: where sound comes from. */
#ifndef SOUND_H
#define SOUND_H

#include <stdint.h>

/* Gets ready. Returns 0, or another number if there is no sound. */
int sound_start(void);

/* Waits for the next `count` samples, 16 kHz, one channel. Returns as sound_start. */
int sound_next(int16_t *sound, int count);

#endif
