/* SPDX-License-Identifier: Apache-2.0 */
/* lt_pool.c: see lt_pool.h. */
#include "lt_pool.h"

#include <stddef.h>
#include <string.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#ifdef LT_HELIUM
#include <arm_mve.h>
#endif

typedef enum { AVERAGE, MAX } kind;

/* The columns [first, end) that output column x looks at, padding left out. */
typedef struct {
    int32_t first, end;
} columns;

static columns window(const lt_pool *p, int32_t x)
{
    columns c;
    c.first = (x * p->stride_w) - p->pad_left;
    c.end = c.first + p->kernel_w;
    c.first = (c.first < 0) ? 0 : c.first;
    c.end = (c.end > p->in_w) ? p->in_w : c.end;
    return c;
}

LT_INLINE int32_t join(int32_t total, int32_t value, kind k)
{
    return (k == AVERAGE) ? (total + value) : (value > total) ? value : total;
}

LT_INLINE int32_t finish(const lt_pool *p, int32_t total, int32_t count, kind k)
{
    if (k == AVERAGE) {
        total = (total > 0) ? ((total + (count / 2)) / count) : ((total - (count / 2)) / count);
    }
    return lt_clamp(total, p->low, p->high);
}

/* Bytes of uint8 that are flipped; nothing to do for other types. */
typedef struct {
    int32_t in, out;
} flips;

LT_INLINE void row(const lt_pool *p, const lt_step *step, lt_elem type, kind k, flips flip)
{
    const void *const *rows = step->in;
    int32_t count = p->kernel_h;
    for (; *rows == NULL; rows++) {
        count--;
    }
    for (; rows[count - 1] == NULL; count--) {
    }
    int32_t out = 0;
    for (int32_t x = 0; x < p->out_w; x++) {
        columns window_x = window(p, x);
        for (int32_t c = 0; c < p->channels; c++) {
            int32_t total = (k == AVERAGE) ? 0 : INT32_MIN;
            for (int32_t y = 0; y < count; y++) {
                const void *in = rows[y];
                for (int32_t i = window_x.first; i < window_x.end; i++) {
                    total = join(total, lt_get(in, (i * p->channels) + c, type) ^ flip.in, k);
                }
            }
            total = finish(p, total, count * (window_x.end - window_x.first), k);
            lt_put(step->out[0], out++, total ^ flip.out, type);
        }
    }
}

static void reset(const lt_pool *p, int32_t *rows, int32_t *totals, int32_t start)
{
    *rows = 0;
    for (int32_t i = p->out_w * p->channels; i > 0; i--) {
        *totals++ = start;
    }
}

#if defined(LT_DSP) && !defined(LT_HELIUM)
#define MOST_COLUMNS 128 /* sums of so many bytes fit into halves */
#define FEWEST_COLUMNS 3 /* so many are worth beginning and ending such sums */

/* Add the columns [first, end) of a row of bytes to the totals of its channels, four channels at a time, and
 * those that are left one by one. */
LT_INLINE void add_columns(int32_t *totals, const int8_t *row, columns of, int32_t channels, lt_elem type,
                           flips flip)
{
    const int8_t *first = row + (of.first * channels);
    int32_t c = 0;
    for (; (c + 4) <= channels; c += 4) {
        const int8_t *pixel = first + c;
        for (int32_t left = of.end - of.first; left > 0; left -= MOST_COLUMNS) {
            int32_t even = 0, odd = 0;
            for (int32_t i = (left < MOST_COLUMNS) ? left : MOST_COLUMNS; i > 0; i--, pixel += channels) {
                uint32_t word = (uint32_t)lt_load(pixel) ^ ((uint32_t)flip.in * 0x01010101U);
                if (type == LT_S8) {
                    __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(word));
                    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(word));
                } else {
                    __asm__("uxtab16 %0, %0, %1" : "+r"(even) : "r"(word));
                    __asm__("uxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(word));
                }
            }
            totals[c] += (int16_t)even;
            totals[c + 1] += (int16_t)odd;
            totals[c + 2] += even >> 16;
            totals[c + 3] += odd >> 16;
        }
    }
    for (; c < channels; c++) {
        const int8_t *pixel = first + c;
        int32_t total = 0;
        for (int32_t i = of.end - of.first; i > 0; i--, pixel += channels) {
            total += (type == LT_S8) ? *pixel : ((uint8_t)*pixel ^ flip.in);
        }
        totals[c] += total;
    }
}
#endif

/* Join a pixel, elements `in` and on of a row, to the totals of its channels. */
LT_INLINE void join_pixel(int32_t *totals, const void *row, int32_t in, int32_t channels, lt_elem type, kind k,
                          flips flip)
{
    int32_t c = 0;
#ifdef LT_HELIUM
    if ((type == LT_S8) || (type == LT_U8)) {
        const uint32x4_t sign = vdupq_n_u32((uint32_t)flip.in);
        for (; (c + 4) <= channels; c += 4, in += 4) {
            int32x4_t total = vldrwq_s32(totals + c), value;
            if (type == LT_S8) {
                value = vldrbq_s32((const int8_t *)row + in);
            } else {
                value = vreinterpretq_s32_u32(veorq_u32(vldrbq_u32((const uint8_t *)row + in), sign));
            }
            vstrwq_s32(totals + c, vaddq_s32(total, value)); /* of bytes, there are only averages here */
        }
    }
#elif defined(LT_DSP)
    if ((type == LT_S8) || (type == LT_U8)) {
        for (; (c + 4) <= channels; c += 4, in += 4) {
            uint32_t word = (uint32_t)lt_load((const int8_t *)row + in) ^ (uint32_t)flip.in * 0x01010101U;
            int32_t values[4];
            for (int32_t i = 0; i < 4; i++) {
                uint32_t byte = word >> (8 * i) & 0xFFU;
                values[i] = (type == LT_S8) ? (int8_t)byte : (int32_t)byte;
            }
            totals[c] = join(totals[c], values[0], k);
            totals[c + 1] = join(totals[c + 1], values[1], k);
            totals[c + 2] = join(totals[c + 2], values[2], k);
            totals[c + 3] = join(totals[c + 3], values[3], k);
        }
    }
#endif
    for (; c < channels; c++) {
        totals[c] = join(totals[c], lt_get(row, in++, type) ^ flip.in, k);
    }
}

LT_INLINE void eat(const lt_pool *p, const lt_step *step, lt_elem type, kind k, flips flip)
{
    int32_t start = (k == AVERAGE) ? 0 : INT32_MIN;
    int32_t *rows = step->scratch;
    int32_t *totals = rows + 1;
    if (step->row == 0) {
        reset(p, rows, totals, start);
    }
    ++*rows;
    for (int32_t x = 0; x < p->out_w; x++) {
        columns window_x = window(p, x);
        int32_t in = window_x.first * p->channels;
#if defined(LT_DSP) && !defined(LT_HELIUM)
        int32_t is_wide = (window_x.end - window_x.first) >= FEWEST_COLUMNS;
        if ((k == AVERAGE) && ((type == LT_S8) || (type == LT_U8)) && is_wide) {
            add_columns(totals, step->in[0], window_x, p->channels, type, flip);
            totals += p->channels;
            continue;
        }
#endif
        for (int32_t i = window_x.first; i < window_x.end; i++, in += p->channels) {
            join_pixel(totals, step->in[0], in, p->channels, type, k, flip);
        }
        totals += p->channels;
    }
    if (step->out[0] == NULL) {
        return;
    }
    totals = rows + 1;
    int32_t out = 0;
    for (int32_t x = 0; x < p->out_w; x++) {
        columns window_x = window(p, x);
        int32_t count = *rows * (window_x.end - window_x.first);
        for (int32_t c = 0; c < p->channels; c++, out++) {
            lt_put(step->out[0], out, finish(p, totals[out], count, k) ^ flip.out, type);
        }
    }
    reset(p, rows, totals, start);
}

#ifndef LT_HELIUM
/* Join a row of bytes to the greatest of its columns, which are bytes, too. */
LT_INLINE void join_greatest(const lt_pool *p, uint8_t *totals, const uint8_t *row, lt_elem type, int32_t flip)
{
    const int32_t channels = p->channels;
    for (int32_t x = 0; x < p->out_w; x++, totals += channels) {
        columns window_x = window(p, x);
        const uint8_t *pixel = row + (window_x.first * channels), *const end = row + (window_x.end * channels);
        for (; pixel != end; pixel += channels) {
            for (int32_t c = 0; c < channels; c++) {
                lt_put(totals, c, join(lt_get(totals, c, type), lt_get(pixel, c, type) ^ flip, MAX), type);
            }
        }
    }
}

/* Eat rows for the greatest of bytes. */
LT_INLINE void eat_greatest(const lt_pool *p, const lt_step *step, lt_elem type, flips flip)
{
    const int32_t size = p->out_w * p->channels;
    uint8_t *totals = step->scratch;
    if (step->row == 0) {
        (void)memset(totals, p->low, (size_t)size);
    }
    for (int32_t y = 0; (y < p->kernel_h) && (step->in[y] != NULL); y++) {
        join_greatest(p, totals, step->in[y], type, flip.in);
    }
    if (step->out[0] != NULL) {
        for (int32_t i = 0; i < size; i++) {
            int32_t total = lt_get(totals, i, type);
            lt_put(step->out[0], i, ((total > p->high) ? p->high : total) ^ flip.out, type);
        }
        (void)memset(totals, p->low, (size_t)size);
    }
}
#endif

static const flips none = {0, 0};

#define LT_POOL_ROW(name, type, kind)                                       \
    LT_SHARED void lt_##name##_row(const void *params, const lt_step *step) \
    {                                                                       \
        row(params, step, type, kind, none);                                \
    }

#define LT_POOL_EAT(name, type, kind)                                       \
    LT_SHARED void lt_##name##_eat(const void *params, const lt_step *step) \
    {                                                                       \
        eat(params, step, type, kind, none);                                \
    }

#define LT_POOL_U8(name, how, kind)                                           \
    LT_SHARED void lt_##name##_##how(const void *params, const lt_step *step) \
    {                                                                         \
        const lt_pool_u8 *p = params;                                         \
        flips flip = {p->in_flip, p->out_flip};                               \
        how(&p->pool, step, LT_U8, kind, flip);                               \
    }

#ifndef LT_HELIUM
LT_SHARED void lt_max_pool_s8_eat(const void *params, const lt_step *step)
{
    eat_greatest(params, step, LT_S8, none);
}

LT_SHARED void lt_max_pool_u8_eat(const void *params, const lt_step *step)
{
    const lt_pool_u8 *p = params;
    flips flip = {p->in_flip, p->out_flip};
    eat_greatest(&p->pool, step, LT_U8, flip);
}

LT_POOL_ROW(average_pool_s8, LT_S8, AVERAGE)
LT_POOL_ROW(max_pool_s8, LT_S8, MAX)
LT_POOL_U8(average_pool_u8, row, AVERAGE)
LT_POOL_U8(max_pool_u8, row, MAX)
#endif
LT_POOL_ROW(average_pool_s16, LT_S16, AVERAGE)
LT_POOL_ROW(max_pool_s16, LT_S16, MAX)
LT_POOL_EAT(average_pool_s8, LT_S8, AVERAGE)
LT_POOL_EAT(average_pool_s16, LT_S16, AVERAGE)
LT_POOL_EAT(max_pool_s16, LT_S16, MAX)
LT_POOL_U8(average_pool_u8, eat, AVERAGE)
