/* camera.c: a ring of lines between an interrupt, which fills it, and the program, which empties it.
 *
 * With a real camera, DMA writes each line where the ring's next place is, and camera_line_came is its
 * "transfer complete" interrupt: it gives DMA the place after that. Here the line is made up, and copied by the
 * interrupt itself.
 */
#include "camera.h"

static uint8_t lines[CAMERA_WAITING][CAMERA_LINE_BYTES];
static volatile unsigned came, used; /* lines since the start; the interrupt changes the former alone */
static volatile unsigned most, lost;
static unsigned shown; /* lines of the picture so far */
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
