/* What the start-up code of each architecture gives to the program that runs a model on a board.
 *
 * Everything is named harness_*, so that it cannot clash with the model's own functions. Functions
 * called between painting the stack and looking at it again are inlined: they must not use stack.
 */
#ifndef LOWTIDE_HARNESS_H
#define LOWTIDE_HARNESS_H

#include <stdint.h>

#define HARNESS_INLINE static inline __attribute__((always_inline))

/* From the linker script; only their addresses mean something. */
extern uint32_t harness_data_load[], harness_data_start[], harness_data_end[];
extern uint32_t harness_bss_start[], harness_bss_end[];
extern uint32_t harness_stack_limit[], harness_stack_top[];

/* Prepares memory, runs the model on all samples and ends the emulation. */
void harness_run(void) __attribute__((noreturn));

/* Reports a fault to the host and ends the emulation. The meaning of `cause` and `detail` depends on
 * the architecture; `pc` is the address of the instruction, `address` the one it wanted. */
void harness_fault(uint32_t cause, uint32_t pc, uint32_t detail, uint32_t address)
    __attribute__((noreturn));

#if defined(__arm__)

extern volatile uint32_t harness_wraps;

#define HARNESS_SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define HARNESS_SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define HARNESS_SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define HARNESS_SYST_MAX 0xFFFFFFu

/* One call to the host. */
HARNESS_INLINE uint32_t harness_host(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* Restarts SysTick, so that it wraps as late as possible: its handler uses the stack under test. */
HARNESS_INLINE void harness_count_start(void)
{
    HARNESS_SYST_CSR = 0;
    HARNESS_SYST_RVR = HARNESS_SYST_MAX;
    HARNESS_SYST_CVR = 0;
    HARNESS_SYST_CSR = 7; /* processor clock, interrupt, run */
    while (HARNESS_SYST_CVR == 0) {
    }
    harness_wraps = 0;
}

/* Ticks since some fixed point; the host knows how many instructions make a tick. */
HARNESS_INLINE uint64_t harness_count(void)
{
    uint32_t wraps, value;
    do {
        wraps = harness_wraps;
        value = HARNESS_SYST_CVR;
    } while (wraps != harness_wraps);
    return ((uint64_t)wraps << 24) + (HARNESS_SYST_MAX - value);
}

HARNESS_INLINE uint32_t *harness_stack_pointer(void)
{
    uint32_t *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

#elif defined(__riscv)

/* One call to the host. */
uint32_t harness_host(uint32_t operation, const void *argument);

HARNESS_INLINE void harness_count_start(void) {}

/* The counters are an extension of their own for the assembler, but every core here has them. */
#define HARNESS_READ_CSR(variable, csr)                                                    \
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, " csr "\n\t.option pop" \
                     : "=r"(variable))

/* Instructions retired since some fixed point. */
HARNESS_INLINE uint64_t harness_count(void)
{
    uint32_t high, low, again;
    do {
        HARNESS_READ_CSR(high, "minstreth");
        HARNESS_READ_CSR(low, "minstret");
        HARNESS_READ_CSR(again, "minstreth");
    } while (high != again);
    return ((uint64_t)high << 32) | low;
}

HARNESS_INLINE uint32_t *harness_stack_pointer(void)
{
    uint32_t *sp;
    __asm__ volatile("mv %0, sp" : "=r"(sp));
    return sp;
}

#endif

#endif
