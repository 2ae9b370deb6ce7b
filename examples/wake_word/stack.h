/* stack.h: measures how much stack a call uses. On a computer it doesn't measure, and gives 0. */
#ifndef STACK_H
#define STACK_H

#ifdef BOARD
void stack_paint(void);
unsigned stack_used(void);
#else
static inline void stack_paint(void)
{
}

static inline unsigned stack_used(void)
{
    return 0;
}
#endif

#endif
