// Starts firmware on an emulated Cortex-M with newlib, whose files and output go through semihosting.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern uint32_t stack_top;
extern char bss_start, end;
void initialise_monitor_handles(void);
int main(int argc, char *argv[]);

// What newlib and libstdc++ ask for in the compiler's own start files.
void *__dso_handle;
void _init(void) {}
void _fini(void) {}

void _start(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    memset(&bss_start, 0, (size_t)(&end - &bss_start));
    initialise_monitor_handles();
    exit(main(0, NULL));
}

// Ends the emulation with an exit code that isn't 0.
static void fault(void)
{
    __asm__ volatile("mov r0, #0x18\n\tldr r1, =0x20023\n\tbkpt 0xab" ::: "r0", "r1", "memory");
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack_top;
    void (*handlers[15])(void);
} vectors = {&stack_top, {_start, fault, fault, fault, fault, fault}};
