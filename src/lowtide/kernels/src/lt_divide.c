/* lt_divide.c: see lt_divide.h. */
#include "lt_divide.h"

#include "lt_fixed.h"

LT_INLINE int32_t divide(const void *params, int32_t a, int32_t b, lt_elem type)
{
    const lt_divide *p = params;
    (void)type;
    int32_t inverse = p->inverse[b & 0xFF];
    int32_t down = p->digits[b & 0xFF] - p->shift;
    a -= p->a_zero;
    a = b < p->b_zero ? -a : a;
    /* All of a's leading bits that are its sign are shifted out. */
    int32_t magnitude = a < 0 ? -a - 1 : a;
    int32_t head = 0;
    while (a != 0 && magnitude < 1 << 30) {
        magnitude = magnitude * 2 + (a < 0 ? 1 : 0);
        head++;
    }
    a = lt_high_mul((int32_t)((uint32_t)a << head), inverse);
    a = lt_divide_by_pot(lt_high_mul(a, p->multiplier), down + head);
    return lt_clamp(a + p->output_zero, p->low, p->high);
}

LT_PAIR_KERNEL(div_s8_pair, lt_divide, LT_S8, LT_S8, divide)
