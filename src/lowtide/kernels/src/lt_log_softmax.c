/* SPDX-License-Identifier: Apache-2.0 */
/* lt_log_softmax.c: see lt_log_softmax.h. */
#include "lt_log_softmax.h"

#include "lt_fixed.h"

/* x saturated; none is below INT32_MIN: products of two values, what Newton's iteration adds, and logarithms of 1
 * and more. */
static int32_t saturated(int64_t x)
{
    return (x > INT32_MAX) ? INT32_MAX : (int32_t)x;
}

/* Leading zeros of x > 0. */
static int32_t leading_zeros(uint32_t x)
{
    int32_t zeros = 0;
    for (; x < 0x80000000U; x <<= 1) {
        zeros++;
    }
    return zeros;
}

/* a * b of signed values; neither is INT32_MIN. */
static int32_t product(int32_t a, int32_t b)
{
    return saturated((((int64_t)a * b) + (1 << 30)) >> 31);
}

/* 1 / (1 + x) in Q0.31 for x in [0, 1]: Newton's iteration. */
static int32_t one_over_one_plus(int32_t x)
{
    int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    int32_t y = 1515870810 + product(half, -1010580540);
    for (int32_t i = 0; i < 3; i++) {
        y += saturated((int64_t)product(y, (1 << 29) - product(half, y)) * 4);
    }
    return saturated((int64_t)y * 2);
}

/* log(x) in Q5.26 for x >= 1 in Q12.19. */
static int32_t logarithm(int32_t x)
{
    const int32_t log_2 = 1488522236, root_root_half = 1805811301, root_half = 1518500250;
    const int32_t alpha_n = 117049297, alpha_d = 127690142; /* of a rational function */
    const int32_t alpha_i = 1057819769, alpha_f = 638450708;
    const int32_t quarter = 1 << 23; /* in Q6.25 */
    int32_t zeros = leading_zeros((uint32_t)x);
    int32_t a = saturated((int64_t)product(x * (int32_t)(1U << (zeros - 1)), root_half) * 2);
    int32_t a_power = (12 - zeros) * (1 << 25) + quarter;
    int32_t head = leading_zeros((uint32_t)product(x, root_half)) - 1;
    int32_t b = saturated((int64_t)x << head);
    int32_t b_power = (12 - head) * (1 << 25) - quarter;
    int32_t r = (a < b) ? a : b;
    int32_t power = (a_power > b_power) ? a_power : b_power;
    int64_t sum = (int64_t)r + root_root_half;
    int32_t p = (int32_t)((sum + 1) / 2); /* neither a nor b is negative */
    int32_t q = (r - root_root_half) * 2;
    int32_t square = product(q, q);
    int32_t above = product(q, r) + product(product(q, square), alpha_n);
    int32_t below = product(p, alpha_i + q + product(alpha_d, square)) + product(alpha_f, q);
    /* Q6.25, and one bit more in the result. */
    int32_t quotient = product(lt_divide_by_pot(above, 6), one_over_one_plus(below));
    return saturated((int64_t)(product(power, log_2) + quotient) * 2);
}

static void log_softmax(const lt_log_softmax *p, const int8_t *in, int8_t *out)
{
    int32_t greatest = INT8_MIN;
    for (uint32_t i = 0; i < p->count; i++) {
        greatest = (in[i] > greatest) ? in[i] : greatest;
    }
    int32_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t below = greatest - in[i];
        sum += (below < p->reach) ? p->exps[below] : 0;
    }
    int32_t log_sum = logarithm(sum);
    int32_t least = lt_scale(lt_add(log_sum, INT32_MIN), p->divisor, p->divisor_shift);
    least = (least > p->least) ? least : p->least;
    for (uint32_t i = 0; i < p->count; i++) {
        int32_t below = greatest - in[i];
        int32_t value = INT8_MIN;
        if ((-below > least) && (below < p->reach)) {
            value = lt_divide_by_pot(lt_sub(p->scaled[below], log_sum), 22) + INT8_MAX;
        }
        out[i] = (int8_t)lt_clamp(value, INT8_MIN, INT8_MAX);
    }
}

LT_SHARED void lt_log_softmax_s8_row(const void *params, const lt_step *step)
{
    const lt_log_softmax *p = params;
    const int8_t *in = step->in[0];
    int8_t *out = step->out[0];
    for (uint32_t i = 0; i < p->groups; i++, in += p->count, out += p->count) {
        log_softmax(p, in, out);
    }
}
