/* SPDX-License-Identifier: Apache-2.0 */
/* lt_pool_helium.c: see lt_pool.h. Bytes that are read at once, or of which the greatest are eaten, on cores
 * with Arm's Helium. */
#include "lt_pool.h"

#include <stddef.h>

#include "lt_elem.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

/* The window of an output pixel: rows from `rows` on, which exist, `width` columns from `first` on. */
typedef struct {
    const void *const *rows;
    int32_t height, first, width;
} window;

/* The greatest of some channels from c on; bytes count as unsigned after their bits `in` are flipped. */
static inline uint8x16_t greatest(const lt_pool *p, const window *at, int32_t c, uint8x16_t in,
                                  uint8x16_t least, mve_pred16_t some)
{
    for (int32_t y = 0; y < at->height; y++) {
        const uint8_t *x = (const uint8_t *)at->rows[y] + (at->first * p->channels) + c;
        for (int32_t n = at->width; n > 0; n--, x += p->channels) {
            least = vmaxq_u8(least, veorq_u8(vldrbq_z_u8(x, some), in));
        }
    }
    return least;
}

/* The sum of four channels at most. */
LT_INLINE int32x4_t sum(const lt_pool *p, const window *at, int32_t c, lt_elem type, int32_t in,
                        mve_pred16_t some)
{
    int32x4_t total = vdupq_n_s32(0);
    for (int32_t y = 0; y < at->height; y++) {
        int32_t from = (at->first * p->channels) + c;
        for (int32_t n = at->width; n > 0; n--, from += p->channels) {
            if (type == LT_S8) {
                total = vaddq_s32(total, vldrbq_z_s32((const int8_t *)at->rows[y] + from, some));
            } else {
                uint32x4_t x = vldrbq_z_u32((const uint8_t *)at->rows[y] + from, some);
                x = veorq_u32(x, vdupq_n_u32((uint32_t)in));
                total = vaddq_s32(total, vreinterpretq_s32_u32(x));
            }
        }
    }
    return total;
}

/* total / count, halves away from zero: n / count is n * ceil(2^32 / count) / 2^32, since n * count
 * is less than 2^32, for n of at most 256 * count and count below 4096. */
static inline int32x4_t divided(int32x4_t total, int32_t count)
{
    if (count == 1) {
        return total;
    }
    mve_pred16_t below = vcmpltq_n_s32(total, 0);
    uint32x4_t size = vreinterpretq_u32_s32(vaddq_n_s32(vabsq_s32(total), count / 2));
    size = vmulhq_u32(size, vdupq_n_u32(UINT32_MAX / (uint32_t)count + 1));
    total = vreinterpretq_s32_u32(size);
    return vpselq_s32(vnegq_s32(total), total, below);
}

/* The same for any count. */
static inline int32x4_t divided_by_any(int32x4_t total, int32_t count)
{
    int32_t lanes[4];
    if (count < 4096) {
        return divided(total, count);
    }
    vstrwq_s32(lanes, total);
    for (int32_t i = 0; i < 4; i++) {
        lanes[i] = ((lanes[i] > 0) ? (lanes[i] + (count / 2)) : (lanes[i] - (count / 2))) / count;
    }
    return vldrwq_s32(lanes);
}

/* The window of column x, of which `of` has the rows. */
static inline window column(const lt_pool *p, window of, int32_t x)
{
    int32_t first = (x * p->stride_w) - p->pad_left, end = first + p->kernel_w;
    of.first = (first < 0) ? 0 : first;
    of.width = ((end > p->in_w) ? p->in_w : end) - of.first;
    return of;
}

static inline window rows_of(const lt_pool *p, const lt_step *step)
{
    window of = {step->in, p->kernel_h, 0, 0};
    for (; *of.rows == NULL; of.rows++) {
        of.height--;
    }
    for (; of.rows[of.height - 1] == NULL; of.height--) {
    }
    return of;
}

/* Stored bytes become unsigned ones of the same order by flipping the bits `in`, and these outputs by
 * `out`; limits are `low` and `high` then. */
static void max_row(const lt_pool *p, const lt_step *step, int32_t in, int32_t out, int32_t low, int32_t high)
{
    window rows = rows_of(p, step);
    uint8_t *to = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++, to += p->channels) {
        window at = column(p, rows, x);
        for (int32_t c = 0; c < p->channels; c += 16) {
            mve_pred16_t some = vctp8q((uint32_t)(p->channels - c));
            uint8x16_t most = vdupq_n_u8((uint8_t)low);
            most = greatest(p, &at, c, vdupq_n_u8((uint8_t)in), most, some);
            most = vminq_u8(most, vdupq_n_u8((uint8_t)high));
            vstrbq_p_u8(to + c, veorq_u8(most, vdupq_n_u8((uint8_t)out)), some);
        }
    }
}

/* Set the greatest so far, of `size` pixels' channels, to the least that is made. */
static void reset(uint8_t *totals, int32_t size, int32_t low)
{
    for (int32_t i = 0; i < size; i += 16) {
        vstrbq_p_u8(totals + i, vdupq_n_u8((uint8_t)low), vctp8q((uint32_t)(size - i)));
    }
}

/* As max_row, of rows that are eaten; totals are such bytes, too. */
static void max_eat(const lt_pool *p, const lt_step *step, int32_t in, int32_t out, int32_t low, int32_t high)
{
    const int32_t size = p->out_w * p->channels;
    const window rows = rows_of(p, step);
    uint8_t *totals = step->scratch, *to = step->out[0];
    if (step->row == 0) {
        reset(totals, size, low);
    }
    for (int32_t x = 0; x < p->out_w; x++, totals += p->channels) {
        window at = column(p, rows, x);
        for (int32_t c = 0; c < p->channels; c += 16) {
            mve_pred16_t some = vctp8q((uint32_t)(p->channels - c));
            uint8x16_t most = vldrbq_z_u8(totals + c, some);
            most = greatest(p, &at, c, vdupq_n_u8((uint8_t)in), most, some);
            vstrbq_p_u8(totals + c, most, some);
        }
    }
    if (to == NULL) {
        return;
    }
    totals = step->scratch;
    for (int32_t i = 0; i < size; i += 16) {
        mve_pred16_t some = vctp8q((uint32_t)(size - i));
        uint8x16_t most = vminq_u8(vldrbq_z_u8(totals + i, some), vdupq_n_u8((uint8_t)high));
        vstrbq_p_u8(to + i, veorq_u8(most, vdupq_n_u8((uint8_t)out)), some);
    }
    reset(totals, size, low);
}

LT_INLINE void average_row(const lt_pool *p, const lt_step *step, lt_elem type, int32_t in, int32_t out)
{
    window rows = rows_of(p, step);
    uint8_t *to = step->out[0];
    for (int32_t x = 0; x < p->out_w; x++, to += p->channels) {
        window at = column(p, rows, x);
        for (int32_t c = 0; c < p->channels; c += 4) {
            mve_pred16_t some = vctp32q((uint32_t)(p->channels - c));
            int32x4_t made = divided_by_any(sum(p, &at, c, type, in, some), at.height * at.width);
            made = vminq_s32(vmaxq_s32(made, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
            made = veorq_s32(made, vdupq_n_s32(out));
            vstrbq_p_u32(to + c, vreinterpretq_u32_s32(made), some);
        }
    }
}

LT_SHARED void lt_max_pool_s8_row(const void *params, const lt_step *step)
{
    const lt_pool *p = params;
    max_row(p, step, 0x80, 0x80, p->low + 128, p->high + 128);
}

LT_SHARED void lt_max_pool_u8_row(const void *params, const lt_step *step)
{
    const lt_pool_u8 *p = params;
    max_row(&p->pool, step, p->in_flip, p->out_flip, p->pool.low, p->pool.high);
}

LT_SHARED void lt_max_pool_s8_eat(const void *params, const lt_step *step)
{
    const lt_pool *p = params;
    max_eat(p, step, 0x80, 0x80, p->low + 128, p->high + 128);
}

LT_SHARED void lt_max_pool_u8_eat(const void *params, const lt_step *step)
{
    const lt_pool_u8 *p = params;
    max_eat(&p->pool, step, p->in_flip, p->out_flip, p->pool.low, p->pool.high);
}

LT_SHARED void lt_average_pool_s8_row(const void *params, const lt_step *step)
{
    average_row(params, step, LT_S8, 0, 0);
}

LT_SHARED void lt_average_pool_u8_row(const void *params, const lt_step *step)
{
    const lt_pool_u8 *p = params;
    average_row(&p->pool, step, LT_U8, p->in_flip, p->out_flip);
}

#endif
