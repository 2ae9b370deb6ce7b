/* camera.h: lines of a picture, as a camera brings them: when they come, and not when they are asked for. */
#ifndef CAMERA_H
#define CAMERA_H

#include <stdint.h>

#define CAMERA_LINES 96
#define CAMERA_LINE_BYTES 288 /* 96 pixels of red, green and blue, 0 to 255 */
#define CAMERA_WAITING 4      /* lines that may wait to be worked on */

/* Begins with the first line of a picture; from now on lines come by themselves. */
void camera_start(void);

/* The oldest line that waits, as soon as there is one. It stays as it is until camera_next. */
const uint8_t *camera_line(void);

/* That line was worked on: its place is free for another one. */
void camera_next(void);

/* How many lines waited at once, at most, and how many came while no place was free: these are lost. */
unsigned camera_most_waiting(void);
unsigned camera_lost(void);

/* The camera's own: what its line interrupt calls, and how a program waits for one. */
void camera_line_came(void);
void camera_wait(void);
void camera_clock_start(void);

#endif
