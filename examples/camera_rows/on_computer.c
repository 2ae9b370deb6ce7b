/* For a computer: a line arrives whenever the program waits for one. */
#include "camera.h"

void camera_clock_start(void)
{
}

void camera_wait(void)
{
    camera_line_came();
}
