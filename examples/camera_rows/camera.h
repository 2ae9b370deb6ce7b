/* camera.h: the lines of a picture. Like those of a camera, they arrive on their own, not on request. */
#ifndef CAMERA_H
#define CAMERA_H

#include <stdint.h>

#define CAMERA_LINES 96
#define CAMERA_LINE_BYTES 288 /* 96 pixels of red, green and blue, 0 to 255 */
#define CAMERA_WAITING 4      /* lines that can wait for the program */

/* Start a picture at its first line. From then on, lines arrive on their own. */
void camera_start(void);

/* Wait for a line, and return the oldest one that waits. It stays valid until you call camera_next. */
const uint8_t *camera_line(void);

/* Release that line, so that its place is free for another one. */
void camera_next(void);

/* The most lines that waited at once, and the number of lines that were lost because no place was free. */
unsigned camera_most_waiting(void);
unsigned camera_lost(void);

/* For the camera alone: what its line interrupt calls, how to wait for a line, how to start the clock. */
void camera_line_came(void);
void camera_wait(void);
void camera_clock_start(void);

#endif
