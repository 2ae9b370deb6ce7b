/* Start-up code for a Cortex-M board in QEMU, and functions that measure the stack. By semihosting, the board
 * uses your computer's files and console.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../stack.h"

#define PAINTED 4096u /* bytes below the caller's frame */
#define PAINT 0x5Au

extern char board_stack_top[];
extern void initialise_monitor_handles(void); /* from the C library: opens the console */
int main(int argc, char **argv);
void start(void);

static uintptr_t painted_to; /* about where the frame of the painting function ends */

/* Addresses are integers here, because memory below the stack pointer belongs to no object. */
static volatile uint8_t *byte_at(uintptr_t address)
{
    return (volatile uint8_t *)address;
}

__attribute__((noinline)) void stack_paint(void)
{
    painted_to = (uintptr_t)__builtin_frame_address(0);
    for (uintptr_t i = 64; i < PAINTED; i++) { /* all but this function's own frame */
        *byte_at(painted_to - i) = PAINT;
    }
}

__attribute__((noinline)) unsigned stack_used(void)
{
    uintptr_t at = painted_to - (PAINTED - 1);
    while (at < painted_to && *byte_at(at) == PAINT) {
        at++;
    }
    return (unsigned)(painted_to - at);
}

void start(void)
{
    static char name[] = "sound.raw";
    static char *arguments[] = {name, name, NULL};
    initialise_monitor_handles();
    const int status = main(2, arguments);
    (void)fflush(NULL);
    _exit(status);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    board_stack_top, (const void *)(uintptr_t)start};
