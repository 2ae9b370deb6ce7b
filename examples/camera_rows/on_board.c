/* For a Cortex-M board in QEMU: SysTick is the line interrupt, and output goes to your computer's console. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "camera.h"

#define TICKS_A_LINE 3000u /* of SysTick; a tick is 40 instructions, so a line is 120,000 */

extern char board_stack_top[];
extern void initialise_monitor_handles(void); /* from the C library: opens the console */
int main(void);
void start(void);
void line_interrupt(void);

static volatile uint32_t *const systick = (volatile uint32_t *)0xE000E010;

void camera_clock_start(void)
{
    systick[0] = 0;
    systick[1] = TICKS_A_LINE - 1;
    systick[2] = 0;
    systick[0] = 7; /* use the processor's clock, enable the interrupt, start */
}

void camera_wait(void)
{
    __asm volatile("wfi");
}

void line_interrupt(void)
{
    camera_line_came();
}

void start(void)
{
    initialise_monitor_handles();
    const int status = main();
    (void)fflush(NULL);
    _exit(status);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    [0] = board_stack_top,
    [1] = (const void *)(uintptr_t)start,
    [15] = (const void *)(uintptr_t)line_interrupt,
};
