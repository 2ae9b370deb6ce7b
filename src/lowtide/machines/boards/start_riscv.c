/* Start-up for RV32: stack and global pointer, the trap handler. */
#include "harness.h"

void _start(void);
void harness_trap(void);
void harness_trapped(uint32_t cause, uint32_t pc, uint32_t value) __attribute__((noreturn));

__attribute__((naked, section(".harness_start"))) void _start(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option norelax\n\t"
                     ".option arch, +zicsr\n\t"
                     "la gp, __global_pointer$\n\t"
                     "la sp, harness_stack_top\n\t"
                     "la t0, harness_trap\n\t"
                     "csrw mtvec, t0\n\t"
                     ".option pop\n\t"
                     "call harness_run");
}

/* The arguments are in the right registers already. The three instructions are a mark that the emulator
 * looks for: they must not be compressed, nor cross a page. */
__attribute__((naked, aligned(16))) uint32_t harness_host(uint32_t operation, const void *argument)
{
    (void)operation;
    (void)argument;
    __asm__ volatile(".option push\n\t"
                     ".option norvc\n\t"
                     "slli x0, x0, 0x1f\n\t"
                     "ebreak\n\t"
                     "srai x0, x0, 7\n\t"
                     ".option pop\n\t"
                     "ret");
}

void harness_trapped(uint32_t cause, uint32_t pc, uint32_t value)
{
    harness_fault(cause, pc, 0, value);
}

/* The stack may be what is broken: report on a fresh one. */
__attribute__((naked, aligned(4))) void harness_trap(void)
{
    __asm__ volatile("la sp, harness_stack_top\n\t"
                     ".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "csrr a0, mcause\n\t"
                     "csrr a1, mepc\n\t"
                     "csrr a2, mtval\n\t"
                     ".option pop\n\t"
                     "call harness_trapped");
}
