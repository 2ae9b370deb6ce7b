/* SPDX-License-Identifier: Apache-2.0 */
/* lt_conv_4x2.c: see lt_conv_4x2.h. The parts that lt_conv_4x2_dsp.c has in assembly are here in
 * C, too: they say what those do, and stand in for them on other cores. */
#include "lt_conv_4x2.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

/* Bytes 0 and 2, or 1 and 3 from the second on, as halves. */
static inline int32_t two_of(const int8_t *x)
{
#ifdef LT_DSP
    return lt_even(lt_load(x));
#else
    return (int32_t)(((uint32_t)x[0] & 0xFFFFU) | (uint32_t)x[2] << 16);
#endif
}

static inline int32_t others_of(const int8_t *x)
{
#ifdef LT_DSP
    return lt_odd(lt_load(x));
#else
    return two_of(x + 1);
#endif
}

/* sum + the products of both halves of two words, wrapping. */
static inline int32_t dual(int32_t a, int32_t b, int32_t sum)
{
#ifdef LT_DSP
    return lt_dual(a, b, sum);
#else
    return lt_add(sum, lt_add((int16_t)a * (int16_t)b, (a >> 16) * (b >> 16)));
#endif
}

/* Unpack a word, whose low byte is the first, of one of `pixels` pixels. */
static inline void put_word(int32_t *to, uint32_t word, int32_t pixels)
{
#ifdef LT_DSP
    to[0] = lt_even((int32_t)word);
    to[pixels] = lt_odd((int32_t)word);
#else
    for (int32_t i = 0; i < 2; i++, word >>= 8) {
        uint32_t low = (uint32_t)(int8_t)(word & 0xFFU), high = (uint32_t)(int8_t)(word >> 16 & 0xFFU);
        to[i * pixels] = (int32_t)((low & 0xFFFFU) | high << 16);
    }
#endif
}

/* The same of so many words. */
static inline void unpack(int32_t *to, const int8_t *from, int32_t words, uint32_t flip, int32_t pixels)
{
    for (; words > 0; words--, to += 2 * pixels, from += 4) {
        uint32_t word;
        (void)__builtin_memcpy(&word, from, 4);
        put_word(to, word ^ (flip * 0x01010101U), pixels);
    }
}

static void unpack_zeros(int32_t *to, int32_t zero, int32_t words, int32_t pixels)
{
    int32_t both = (int32_t)((uint32_t)(zero & 0xFFFF) * 0x10001U);
    for (; words > 0; words--, to += 2 * pixels) {
        to[0] = both;
        to[pixels] = both;
    }
}

/* The window of one of `pixels` pixels that begins in column `first`, of which some columns are padding. */
LT_APART static void unpack_pixels(const lt_conv_4x2_s8 *p, const void *const *rows, int32_t first, int32_t *to,
                                   int32_t pixels)
{
    int32_t words = p->in_c >> 2;
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++, to += 2 * pixels * p->words) {
        const int8_t *row = *rows;
        int32_t column = first, *at = to;
        if (row == NULL) {
            unpack_zeros(to, p->input_zero, p->words, pixels);
            continue;
        }
        for (int32_t kx = p->kernel_w; kx > 0; kx--, column += p->dilation_w, at += 2 * pixels * words) {
            if ((column >= 0) && (column < p->in_w)) {
                unpack(at, row + (column * p->in_c), words, p->flip, pixels);
            } else {
                unpack_zeros(at, p->input_zero, words, pixels);
            }
        }
    }
}

/* The same if in_c is no multiple of 4: bytes are put together to words, of which k bytes are there so far. */
LT_APART static void unpack_bytes(const lt_conv_4x2_s8 *p, const void *const *rows, int32_t first, int32_t *to,
                                  int32_t pixels)
{
    const uint32_t flip = p->flip * 0x01010101U, zeros = (uint8_t)p->input_zero * 0x01010101U;
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++, to += 2 * pixels * p->words) {
        const int8_t *row = *rows;
        int32_t column = first, k = 0, *at = to;
        uint32_t word = 0;
        if (row == NULL) {
            unpack_zeros(to, p->input_zero, p->words, pixels);
            continue;
        }
        for (int32_t kx = p->kernel_w; kx > 0; kx--, column += p->dilation_w) {
            const int8_t *pixel = ((column >= 0) && (column < p->in_w)) ? (row + (column * p->in_c)) : NULL;
            int32_t c = 0;
            for (; (c + 4) <= p->in_c; c += 4, at += 2 * pixels) {
                uint32_t four = zeros;
                if (pixel != NULL) {
                    (void)__builtin_memcpy(&four, pixel + c, 4);
                    four ^= flip;
                }
                put_word(at, word | (four << (8 * k)), pixels);
                word = (four >> 1) >> (31 - (8 * k)); /* nothing if k is 0 */
            }
            for (; c < p->in_c; c++) {
                uint32_t byte = (uint8_t)((pixel != NULL) ? (pixel[c] ^ p->flip) : p->input_zero);
                word |= byte << (8 * k++);
                if (k == 4) {
                    put_word(at, word, pixels);
                    at += 2 * pixels;
                    word = 0;
                    k = 0;
                }
            }
        }
        if (k != 0) {
            put_word(at, word, pixels); /* weights beyond the last byte are 0 */
        }
    }
}

/* Unpack the word at byte `at` of a row of `end` >= 4 bytes, of which some are outside. */
static inline void unpack_cut(const lt_conv_4x2_s8 *p, const int8_t *row, int32_t at, int32_t end, int32_t *to,
                              int32_t pixels)
{
    uint32_t word, inside;
#ifdef LT_DSP
    if (at < 0) {
        inside = 0xFFFFFFFFU << (-8 * at);
        word = (uint32_t)lt_load(row) << (-8 * at);
    } else {
        inside = 0xFFFFFFFFU >> (8 * (at + 4 - end));
        word = (uint32_t)lt_load(row + end - 4) >> (8 * (at + 4 - end));
    }
#else
    word = 0;
    inside = 0;
    for (int32_t i = 0; i < 4; i++) {
        if (((at + i) >= 0) && ((at + i) < end)) {
            word |= (uint32_t)(uint8_t)row[at + i] << (8 * i);
            inside |= 0xFFU << (8 * i);
        }
    }
#endif
    word = ((word ^ (p->flip * 0x01010101U)) & inside);
    put_word(to, word | ((uint32_t)(uint8_t)p->input_zero * 0x01010101U & ~inside), pixels);
}

/* The same, and pixels lie next to each other: words that are there as a whole are unpacked as such. */
LT_APART static void unpack_words(const lt_conv_4x2_s8 *p, const void *const *rows, int32_t first, int32_t *to,
                                  int32_t pixels)
{
    int32_t begin = first * p->in_c, end = p->in_w * p->in_c;
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++) {
        const int8_t *row = *rows;
        int32_t at = begin;
        for (int32_t left = p->words; left > 0; left--, at += 4, to += 2 * pixels) {
            if ((row == NULL) || (at <= -4) || (at >= end)) {
                unpack_zeros(to, p->input_zero, 1, pixels);
            } else if ((at >= 0) && ((at + 4) <= end)) {
                unpack(to, row + at, 1, p->flip, pixels);
            } else {
                unpack_cut(p, row, at, end, to, pixels);
            }
        }
    }
}

static inline int32_t is_inside(const lt_conv_4x2_s8 *p, int32_t first)
{
    return (first >= 0) && (first <= p->last);
}

/* The window of one of `pixels` pixels that begins in column `first`. */
static void unpack_window(const lt_conv_4x2_s8 *p, const void *const *rows, int32_t first, int32_t *to,
                          int32_t pixels)
{
    if (is_inside(p, first) != 0) {
        for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++, to += 2 * pixels * p->words) {
            if (*rows == NULL) {
                unpack_zeros(to, p->input_zero, p->words, pixels);
            } else {
                unpack(to, (const int8_t *)*rows + (first * p->in_c), p->words, p->flip, pixels);
            }
        }
    } else if ((p->in_c & 3) == 0) {
        unpack_pixels(p, rows, first, to, pixels);
    } else if ((p->dilation_w == 1) && ((p->in_w * p->in_c) > 3)) {
        unpack_words(p, rows, first, to, pixels);
    } else {
        unpack_bytes(p, rows, first, to, pixels);
    }
}

/* The windows of two output columns, the first of which begins in column `first`. */
LT_APART static void unpack_two(const lt_conv_4x2_s8 *p, const void *const *rows, int32_t first, int32_t *to)
{
    int32_t second = first + p->stride_w;
    if ((first < 0) || (second > p->last)) { /* the second is not left of the first */
        unpack_window(p, rows, first, to, 2);
        unpack_window(p, rows, second, to + 1, 2);
        return;
    }
    for (int32_t ky = p->kernel_h; ky > 0; ky--, rows++, to += 4 * p->words) {
        const int8_t *row = *rows;
        if (row == NULL) {
            unpack_zeros(to, p->input_zero, 2 * p->words, 1);
        } else if (p->flip != 0) {
            lt_4x2_unpack_flipped(to, row + (first * p->in_c), row + (second * p->in_c), p->words);
        } else {
            lt_4x2_unpack(to, row + (first * p->in_c), row + (second * p->in_c), p->words);
        }
    }
}

static int8_t *fill(int8_t *to, int8_t value, int32_t n)
{
    for (; n > 0; n--) {
        LT_LOOP_AS_IT_IS(to);
        *to++ = value;
    }
    return to;
}

static int8_t *copy(int8_t *to, const int8_t *from, int32_t n, int32_t flip)
{
    uint32_t word, mask = (uint32_t)flip * 0x01010101U;
    for (; n >= 4; n -= 4, from += 4, to += 4) {
        (void)__builtin_memcpy(&word, from, 4);
        word ^= mask;
        (void)__builtin_memcpy(to, &word, 4);
    }
    for (; n > 0; n--) {
        *to++ = (int8_t)(*from++ ^ flip);
    }
    return to;
}

/* A row of the window as bytes, of which some columns are padding: runs of columns that are there, or not,
 * and lie next to each other. */
static void copy_pixels(const lt_conv_4x2_s8 *p, const int8_t *row, int32_t first, int8_t *to)
{
    int32_t in_c = p->in_c, run = (p->dilation_w == 1) ? p->kernel_w : 1;
    for (int32_t kx = p->kernel_w; kx > 0; kx -= run, first += p->dilation_w) {
        int32_t from = (first < 0) ? -first : 0, end = p->in_w - first;
        from = (from < run) ? from : run;
        end = (end < run) ? end : run;
        end = (end > from) ? end : from;
        to = fill(to, p->input_zero, from * in_c);
        if (end > from) {
            to = copy(to, row + (first + from) * in_c, (end - from) * in_c, p->flip);
        }
        to = fill(to, p->input_zero, (run - end) * in_c);
    }
}

/* The window of output column x as bytes: where it is, or gathered in `patch`. */
LT_APART static const int8_t *window(const lt_conv_4x2_s8 *p, const void *const *rows,
                                  int32_t x, int8_t *patch)
{
    int32_t first = (x * p->stride_w) - p->pad_left, words = p->words;
    int8_t *to = patch;
    if (p->direct != 0U) {
        return (const int8_t *)rows[0] + (first * p->in_c);
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++, to += 4 * words) {
        const int8_t *row = rows[ky];
        if (row == NULL) {
            (void)fill(to, p->input_zero, 4 * words);
        } else if (is_inside(p, first) != 0) {
            (void)copy(to, row + (first * p->in_c), 4 * words, p->flip);
        } else {
            copy_pixels(p, row, first, to);
        }
    }
    return patch;
}

/* The channels beyond the last four, of `pixels` pixels, by `run`. */
LT_APART static void run_rest(const lt_conv_4x2_s8 *p, void (*run)(lt_4x2 *), lt_4x2 *of, int32_t pixels)
{
    int32_t rest = p->out_c & 3;
    int8_t last[12], *out = of->out + p->out_c - rest;
    of->out = last;
    of->out_c = 4;
    of->groups = 1;
    run(of);
    for (int32_t i = 0; i < pixels; i++) {
        for (int32_t c = 0; c < rest; c++) {
            out[(i * p->out_c) + c] = last[(4 * i) + c];
        }
    }
    of->out = out + rest - p->out_c;
    of->out_c = p->out_c;
    of->groups = p->out_c >> 2;
}

/* Scales of a channel are two words, or four for `any` factors; a `high` sum is 256 times what it is. */
static inline int8_t scaled(int32_t sum, const int32_t *scale, int32_t high, int32_t any)
{
    int32_t y, shift = scale[1] & 0xFF;
    if (any != 0) {
        sum = high ? sum >> shift : (int32_t)((uint32_t)sum << shift);
        y = lt_broad(sum, scale[0], scale[2], scale[3], scale[1] >> 8);
    } else {
        sum = high ? sum >> 7 : lt_add(sum, sum);
        y = lt_narrow(sum, scale[0], scale[1] >> 8, shift);
    }
    return (int8_t)lt_clamp(y, INT8_MIN, INT8_MAX);
}

/* sum + four products of bytes and the weights of the first channel of a pair without a second one. */
static inline int32_t four_products(const int32_t *w, const int8_t *x, int32_t sum)
{
    return dual(w[2], others_of(x), dual(w[0], two_of(x), sum));
}

/* The last channel of a pixel of bytes, before `out`, if it is the only one beyond the last four: half of its
 * words are 0, and the others have the weights of no other channel. */
LT_APART static void run_last(const lt_4x2 *of, int32_t any)
{
    const int32_t *w = of->records + 4, *end = w + (4 * of->quads);
    const int8_t *x = of->x;
    int32_t sum = of->records[0];
    for (; (end - w) > 4; w += 8, x += 8) {
        sum = four_products(w, x, sum);
        sum = four_products(w + 4, x + 4, sum);
    }
    for (; w != end; w += 4, x += 4) {
        sum = four_products(w, x, sum);
    }
    of->out[-1] = scaled(sum, end, 0, any);
}

/* All channels of the pixels of `of`, by `run`; `rest` are those beyond the last four. */
static inline void run_all(const lt_conv_4x2_s8 *p, void (*run)(lt_4x2 *), lt_4x2 *of, int32_t pixels,
                           int32_t out_c, int32_t rest)
{
    of->records = p->records;
    if (out_c > 3) {
        run(of);
    }
    if (rest != 0) {
        run_rest(p, run, of, pixels);
    }
    of->out += pixels * out_c;
}

/* A row but for its last `left` pixels, which is `direct` and `lean`, or not; returns where these go. `two` and
 * `one` take halves, `bytes` one pixel of bytes; NULL if no pixel is. */
LT_INLINE lt_4x2 run_row(const lt_conv_4x2_s8 *p, const lt_step *step, int32_t left, uint32_t direct,
                         uint32_t lean, int32_t any, void (*two)(lt_4x2 *), void (*one)(lt_4x2 *),
                         void (*bytes)(lt_4x2 *))
{
    int32_t x = 0, end = p->out_w - left, out_c = p->out_c, rest = out_c & 3;
    int32_t paired = (lean != 0U) ? 0 : (end & ~1);
    lt_4x2 of = {NULL, step->scratch, p->quads, step->out[0], out_c, out_c >> 2};
    if (direct != 0U) {
        int32_t pitch = p->stride_w * p->in_c, words = p->words;
        const int8_t *pixel = step->in[0];
        for (; x < paired; x += 2) {
            lt_4x2_unpack(step->scratch, pixel, pixel + pitch, words);
            pixel += 2 * pitch;
            run_all(p, two, &of, 2, out_c, rest);
        }
    } else {
        for (; x < paired; x += 2) {
            unpack_two(p, step->in, (x * p->stride_w) - p->pad_left, step->scratch);
            run_all(p, two, &of, 2, out_c, rest);
        }
    }
    /* Few channels don't pay for halves of a pixel that is there, nor does any window that is put together. */
    int32_t by_bytes = (direct != 0U) ? (out_c <= 12) : (((p->in_c & 3) != 0) && (p->dilation_w > 1));
    if ((paired > 0) && (one != NULL) && !by_bytes && (x < end)) { /* there is room for halves */
        unpack_window(p, step->in, (x * p->stride_w) - p->pad_left, step->scratch, 1);
        run_all(p, one, &of, 1, out_c, rest);
        x++;
    }
    for (; (bytes != NULL) && (x < end); x++) {
        of.x = window(p, step->in, x, step->scratch);
        run_all(p, bytes, &of, 1, out_c, (rest == 1) ? 0 : rest);
        if (rest == 1) {
            run_last(&of, any);
        }
    }
    LT_MACS(p->out_w * p->kernel_h * p->kernel_w * p->in_c * p->out_c);
    return of;
}

LT_SHARED void lt_conv_4x2_s8_row(const void *params, const lt_step *step)
{
    const lt_conv_4x2_s8 *p = params;
    lt_4x2 of = run_row(p, step, 0, p->direct, p->lean, 0, lt_4x2_two, lt_4x2_one, lt_4x2_one_packed);
    lt_clamp_row(step->out[0], of.out, p->low, p->high);
}

LT_SHARED void lt_conv_4x2_s8_any(const void *params, const lt_step *step)
{
    const lt_conv_4x2_s8 *p = params;
    lt_4x2 of = run_row(p, step, 0, p->direct, p->lean, 1, lt_4x2_two_any, NULL, lt_4x2_one_any);
    lt_clamp_row(step->out[0], of.out, p->low, p->high);
}

LT_SHARED void lt_conv_4x2_s8_three(const void *params, const lt_step *step)
{
    const lt_conv_4x2_s8 *p = params;
    int32_t left = p->out_w > 2 && (p->out_w & 1) != 0 ? 3 : 0, pitch = p->stride_w * p->in_c;
    lt_4x2 of = run_row(p, step, left, 1, 0, 0, lt_4x2_two, NULL, NULL);
    if (left > 0) {
        const int8_t *pixel = (const int8_t *)step->in[0] + (p->out_w - 3) * pitch;
        lt_4x2_unpack_three(step->scratch, pixel, pitch, p->words);
        of.x = step->scratch;
        run_all(p, lt_4x2_three, &of, 3, p->out_c, p->out_c & 3);
    }
    lt_clamp_row(step->out[0], of.out, p->low, p->high);
}

LT_SHARED void lt_conv_4x2_s8_one(const void *params, const lt_step *step)
{
    const lt_conv_4x2_s8 *p = params;
    lt_4x2 of = {NULL, step->scratch, p->quads, step->out[0], p->out_c, p->out_c >> 2};
    if (p->direct != 0U) {
        unpack(step->scratch, step->in[0], p->words, 0, 1);
    } else {
        unpack_window(p, step->in, -p->pad_left, step->scratch, 1);
    }
    run_all(p, lt_4x2_one, &of, 1, p->out_c, p->out_c & 3);
    LT_MACS(p->kernel_h * p->kernel_w * p->in_c * p->out_c);
    lt_clamp_row(step->out[0], of.out, p->low, p->high);
}

#ifndef LT_DSP

LT_SHARED void lt_4x2_unpack(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words)
{
    unpack(to, pixel0, words, 0, 2);
    unpack(to + 1, pixel1, words, 0, 2);
}

LT_SHARED void lt_4x2_unpack_flipped(int32_t *to, const int8_t *pixel0, const int8_t *pixel1,
                                       int32_t words)
{
    unpack(to, pixel0, words, 0x80, 2);
    unpack(to + 1, pixel1, words, 0x80, 2);
}

/* The low bytes of both halves of a word, as halves. */
static int32_t low_bytes(int32_t word)
{
    return (int32_t)((uint32_t)(int8_t)word & 0xFFFFU) | (int32_t)((uint32_t)(int8_t)(word >> 16) << 16);
}

/* The same of three. */
LT_SHARED void lt_4x2_unpack_three(int32_t *to, const int8_t *pixel, int32_t pitch, int32_t words)
{
    for (; words > 0; words--, to += 6, pixel += 4) {
        for (int32_t i = 0; i < 3; i++) {
            to[i] = two_of(pixel + (i * pitch));
            to[3 + i] = others_of(pixel + (i * pitch));
        }
    }
}

/* A pair of channels of one pixel: halves of products 0 and 2 are x[0], of 1 and 3 x[other], and so on
 * every `next` words; weights every fourth word, from w[0] and w[2] on. */
static void pair_of(const int32_t *w, const int32_t *x, int32_t other, int32_t next, int32_t quads,
                    int32_t sums[2])
{
    for (; quads > 0; quads--, w += 4, x += next) {
        sums[1] = dual(w[2], x[other], dual(w[0], x[0], sums[1]));
        sums[0] = dual(low_bytes(w[2]), x[other], dual(low_bytes(w[0]), x[0], sums[0]));
    }
}

/* All groups of so many pixels: of halves, or of one that is `packed`, as bytes. */
static void make(lt_4x2 *of, int32_t pixels, int32_t packed, int32_t any)
{
    int8_t *out = of->out;
    int32_t words = any ? 4 : 2;
    for (int32_t left = of->groups; left > 0; left--, out += 4) {
        const int32_t *weights = of->records + 4, *scales = weights + (4 * of->quads);
        for (int32_t pixel = 0; pixel < pixels; pixel++) {
            for (int32_t pair = 0; pair < 2; pair++) {
                int32_t sums[2] = {of->records[pair], of->records[2 + pair]}, halves[2];
                const int32_t *scale = scales + (2 * words * pair);
                int8_t *to = out + (2 * pair) + (pixel * of->out_c);
                if (packed == 0) {
                    const int32_t *x = (const int32_t *)of->x + pixel;
                    pair_of(weights + pair, x, pixels, 2 * pixels, of->quads, sums);
                }
                for (int32_t k = 0; packed != 0 && k < of->quads; k++) {
                    const int8_t *x = (const int8_t *)of->x + 4 * k;
                    halves[0] = two_of(x);
                    halves[1] = others_of(x);
                    pair_of(weights + pair + 4 * k, halves, 1, 0, 1, sums);
                }
                to[0] = scaled(sums[0], scale, 0, any);
                to[1] = scaled(lt_sub(sums[1], sums[0]), scale + words, 1, any);
            }
        }
        of->records = scales + (4 * words);
    }
}

LT_SHARED void lt_4x2_two(lt_4x2 *of)
{
    make(of, 2, 0, 0);
}

LT_SHARED void lt_4x2_three(lt_4x2 *of)
{
    make(of, 3, 0, 0);
}

LT_SHARED void lt_4x2_one(lt_4x2 *of)
{
    make(of, 1, 0, 0);
}

LT_SHARED void lt_4x2_one_packed(lt_4x2 *of)
{
    make(of, 1, 1, 0);
}

LT_SHARED void lt_4x2_two_any(lt_4x2 *of)
{
    make(of, 2, 0, 1);
}

LT_SHARED void lt_4x2_one_any(lt_4x2 *of)
{
    make(of, 1, 1, 1);
}

#endif
