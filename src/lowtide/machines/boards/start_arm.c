/* Start-up for Cortex-M: vector table, FPU and Helium, the fault handler, SysTick's wraps. */
#include "harness.h"

#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)
#define SCB_CFSR (*(volatile uint32_t *)0xE000ED28u)
#define SCB_BFAR (*(volatile uint32_t *)0xE000ED38u)

volatile uint32_t harness_wraps;

void _start(void);
void harness_fault_frame(const uint32_t *frame) __attribute__((noreturn));

void _start(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    SCB_CPACR |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    harness_run();
}

/* `frame`: what the core stacked when the fault came: r0-r3, r12, lr, pc, xpsr. */
void harness_fault_frame(const uint32_t *frame)
{
    uint32_t exception, pc = 0, detail = 0, address = 0;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    if (frame >= harness_data_start && frame + 8 <= harness_stack_top) {
        pc = frame[6];
    }
#if __ARM_ARCH > 6
    detail = SCB_CFSR;
    address = SCB_BFAR;
#endif
    harness_fault(exception, pc, detail, address);
}

/* The stack may be what is broken: report on a fresh one. */
__attribute__((naked)) static void on_fault(void)
{
    __asm__ volatile("mov r0, sp\n\t"
                     "ldr r1, =harness_stack_top\n\t"
                     "mov sp, r1\n\t"
                     "bl harness_fault_frame");
}

static void on_systick(void)
{
    harness_wraps++;
}

static const struct {
    uint32_t *stack_top;
    void (*handlers[15])(void);
} vectors __attribute__((section(".harness_vectors"), used)) = {
    harness_stack_top,
    {_start, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault, on_fault,
     on_fault, on_fault, on_fault, on_fault, on_fault, on_systick},
};
