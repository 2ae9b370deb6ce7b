/* camera.c: a ring buffer of lines. An interrupt fills it, and the program empties it.
 *
 * With a real camera, DMA writes each line into the next free place of the ring. Then camera_line_came is the
 * "transfer complete" interrupt, which gives DMA the place after that. This example generates the lines
 * instead, and the interrupt copies them.
 */
#include "camera.h"

static uint8_t lines[CAMERA_WAITING][CAMERA_LINE_BYTES];
static volatile unsigned came, used; /* counts of lines; the interrupt writes `came` alone */
static volatile unsigned most, lost;
static unsigned shown; /* lines of this picture so far */
static uint32_t noise = 1;

static void sensor(uint8_t line[CAMERA_LINE_BYTES])
{
    for (unsigned i = 0; i < CAMERA_LINE_BYTES; i++) {
        noise = noise * 1664525u + 1013904223u;
        line[i] = (uint8_t)((noise >> 27) + 2 * shown);
    }
}

void camera_start(void)
{
    came = used = most = lost = shown = 0;
    camera_clock_start();
}

void camera_line_came(void)
{
    if (shown == CAMERA_LINES) {
        return;
    }
    shown++;
    if (came - used == CAMERA_WAITING) {
        lost++;
        return;
    }
    sensor(lines[came % CAMERA_WAITING]);
    came++;
    most = came - used > most ? came - used : most;
}

const uint8_t *camera_line(void)
{
    while (came == used) {
        camera_wait();
    }
    return lines[used % CAMERA_WAITING];
}

void camera_next(void)
{
    used++;
}

unsigned camera_most_waiting(void)
{
    return most;
}

unsigned camera_lost(void)
{
    return lost;
}
