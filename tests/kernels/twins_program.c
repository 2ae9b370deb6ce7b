/* Runs on an emulated board: what kernels have in assembly against the C beside it, on random values
 * within the contract, and lt_narrow_s8 against the two roundings that it stands for. */
#include <string.h>

#include "harness.h"
#include "lt_add_narrow.h"
#include "lt_conv_4x2.h"
#include "lt_conv_2x2.h"
#include "lt_depthwise_3x3.h"
#include "lt_depthwise_columns.h"
#include "lt_depthwise_s16.h"
#include "lt_dots.h"
#include "lt_fixed.h"
#include "lt_svdf.h"

#ifndef LT_DSP
#error this board has no assembly to test
#endif

void twin_3x3_make_1(lt_3x3_piece *of);
void twin_3x3_make_2(lt_3x3_piece *of);
void twin_3x3_any_1(lt_3x3_piece *of);
void twin_3x3_any_2(lt_3x3_piece *of);
void twin_columns_weights(int32_t *to, const int32_t *from, int32_t count, uint32_t mask, int32_t from_next,
                          int32_t next);
void twin_columns_unpack(const lt_columns_source *from, int32_t *to, int32_t count, int32_t next);
void twin_columns_sum(const lt_columns_sums *of);
void twin_columns_sum_any(const lt_columns_sums *of);
const int32_t *twin_columns_tap(const lt_columns_taps *of);
const int32_t *twin_columns_tap_any(const lt_columns_taps *of);
void twin_4x2_unpack(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words);
void twin_4x2_unpack_flipped(int32_t *to, const int8_t *pixel0, const int8_t *pixel1, int32_t words);
void twin_4x2_unpack_three(int32_t *to, const int8_t *pixel, int32_t pitch, int32_t words);
void twin_4x2_two(lt_4x2 *of);
void twin_4x2_three(lt_4x2 *of);
void twin_4x2_one(lt_4x2 *of);
void twin_4x2_one_packed(lt_4x2 *of);
void twin_4x2_two_any(lt_4x2 *of);
void twin_4x2_one_any(lt_4x2 *of);
void twin_add_narrow_sums(const lt_add_narrow_s8 *p, const int8_t *a, const int8_t *b, int8_t *out);
void twin_2x2_pair(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t pixel,
                    int32_t fours);
void twin_2x2_single(int32_t *sums, const int8_t *w, int32_t channel, const int16_t *x, int32_t fours,
                     int32_t other);
void twin_depthwise_s16_four(const lt_depthwise_s16 *p, const void *const *rows, int32_t first,
                             int32_t from, int32_t to, int32_t c, int32_t *sums);
void twin_dots_s8(int32_t *sums, const int8_t *w, int32_t next, const int8_t *x, int32_t n, int32_t other);
int32_t twin_svdf_move(int8_t *state, const int8_t *times, int32_t n, int32_t newest, int32_t sum);

static uint32_t seed = 1;

/* From low to high - 1; now and then one of the ends. */
static int32_t drawn(int32_t low, int32_t high)
{
    seed = seed * 1664525U + 1013904223U;
    uint32_t range = (uint32_t)high - (uint32_t)low, value = (seed >> 1) % range;
    if ((seed >> 24 & 15) == 3) {
        value = seed >> 30 & 1 ? range - 1 : 0;
    }
    return (int32_t)((uint32_t)low + value);
}

static int32_t halves(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)low & 0xFFFFU) | (int32_t)((uint32_t)high << 16);
}

static int32_t bytes(void)
{
    uint32_t word = 0;
    for (int32_t i = 0; i < 4; i++) {
        word = word << 8 | (uint32_t)(drawn(-128, 128) & 0xFF);
    }
    return (int32_t)word;
}

static int32_t multiplier(void)
{
    return (int32_t)(0x40000000U + (uint32_t)drawn(0, 0x40000000));
}

/* Where results go, of either kind; what lies around them must stay as it is. */
static int32_t mine[2][400];
static int8_t source[400];

static int32_t differs(void)
{
    return memcmp(mine[0], mine[1], sizeof mine[0]) != 0;
}

static void fill_source(void)
{
    for (uint32_t i = 0; i < sizeof source; i++) {
        source[i] = (int8_t)drawn(-128, 128);
    }
}

/* Scales of a channel for any factors: multiplier, shift to the left and above it to the right, centre, and
 * whether sums are rounded twice. Returns where the next ones go. */
static int32_t *any_scales(int32_t *at)
{
    int32_t right = drawn(0, 17), left = right > 0 ? 1 : drawn(1, 9), zero = drawn(-128, 128);
    *at++ = multiplier();
    *at++ = left | right << 8;
    *at++ = right > 0 ? lt_centre(2 * zero + 1, right - 1) : zero;
    *at++ = right > 0 ? -1 : 0;
    return at;
}

/* The same as a record of lt_3x3_any_1. */
static void any_record(int32_t *record)
{
    int32_t scales[4], left, right;
    (void)any_scales(scales);
    left = scales[1] & 0xFF;
    right = scales[1] >> 8;
    record[0] = scales[3];
    record[1] = bytes();
    record[2] = bytes();
    record[3] = halves(right | left << 8, drawn(-128, 128) * (1 << left));
    record[4] = drawn(-(1 << 22), 1 << 22) * (1 << left);
    record[5] = scales[0];
    record[6] = scales[2];
}

static int32_t columns(int32_t any)
{
    int32_t wrong = 0;
    fill_source();
    for (int32_t stride = 1; stride < 3; stride++) {
        int32_t records[8 * 7], n = drawn(1, 14), groups = drawn(1, 3), masks = drawn(0, 8);
        int32_t before = drawn(0, 2), count = (n - 1) * stride + 3 - before - drawn(0, 2);
        int32_t base = drawn(-127, 129), odd = 2 * drawn(-128, 128) + 1;
        const int8_t *row = source + drawn(0, 20);
        lt_3x3_piece of[2];
        memset(mine, 0, sizeof mine);
        for (int32_t c = 0; c < 4 * groups; c++) {
            int32_t *record = records + (any ? 7 : 5) * c;
            if (any) {
                any_record(record);
                continue;
            }
            record[0] = bytes();
            record[1] = bytes();
            record[2] = halves(drawn(0, 23), 2 * drawn(-128, 128));
            record[3] = 2 * drawn(-(1 << 22), 1 << 22);
            record[4] = multiplier();
        }
        for (int32_t k = 0; k < 2; k++) {
            lt_3x3_piece each = {mine[k],
                                 {(masks & 1 ? 0xFFFFU : 0) | (masks & 2 ? 0xFFFF0000U : 0),
                                  (masks & 1 ? 0xFFU : 0) | (masks & 2 ? 0xFF0000U : 0) |
                                      (masks & 4 ? 0xFF00FF00U : 0),
                                  masks & 4 ? 0xFFFFFFFFU : 0xFFFFU},
                                 odd,
                                 records,
                                 mine[k] + 6 * before,
                                 row,
                                 3,
                                 21,
                                 4 * groups,
                                 halves(base, base),
                                 masks == 0 ? 0 : count,
                                 n,
                                 (int8_t *)(mine[k] + 250) + 1,
                                 groups};
            of[k] = each;
        }
        if (any) {
            (stride == 1 ? lt_3x3_any_1 : lt_3x3_any_2)(&of[0]);
            (stride == 1 ? twin_3x3_any_1 : twin_3x3_any_2)(&of[1]);
        } else {
            (stride == 1 ? lt_3x3_make_1 : lt_3x3_make_2)(&of[0]);
            (stride == 1 ? twin_3x3_make_1 : twin_3x3_make_2)(&of[1]);
        }
        wrong += differs() || of[0].records != of[1].records || of[0].row != of[1].row;
    }
    return wrong;
}

/* Windows of any size: weights, columns and sums of both, and windows of one column. */
static int32_t windows(int32_t any)
{
    static int32_t words[200];
    int32_t wrong = 0, count = drawn(1, 8), next = 16 * drawn(1, 3), n = drawn(1, 4), base = drawn(-127, 129);
    uint32_t mask = (drawn(0, 4) != 0 ? 0xFFFFU : 0) | (drawn(0, 4) != 0 ? 0xFFFF0000U : 0);
    lt_columns_source from = {source + drawn(0, 20), drawn(-3, 30), 4 * drawn(1, 8), halves(base, base)};
    fill_source();
    memset(mine, 0x55, sizeof mine);
    for (int32_t i = 0; i < 200; i++) {
        words[i] = bytes();
    }
    lt_columns_weights(mine[0] + 1, words, count, mask, next / 2, next);
    twin_columns_weights(mine[1] + 1, words, count, mask, next / 2, next);
    from.row += 3;
    lt_columns_unpack(&from, mine[0] + 150, count, next);
    twin_columns_unpack(&from, mine[1] + 150, count, next);
    wrong += differs();
    int32_t scales[16], biases[4], odd = 2 * drawn(-128, 128) + 1, shifts = 0;
    for (int32_t i = 0; i < 4; i++) {
        scales[i] = multiplier();
        biases[i] = drawn(-(1 << 22), 1 << 22);
        shifts = (int32_t)((uint32_t)shifts << 8) | drawn(0, 23);
    }
    scales[4] = shifts;
    for (int32_t *at = scales; any && at < scales + 16;) {
        at = any_scales(at);
    }
    lt_columns_window each[4];
    for (int32_t i = 0; i < n; i++) {
        each[i].w = 16 * drawn(0, 5);
        each[i].x = 16 * drawn(5, 10);
        each[i].size = 16 * drawn(0, 15);
    }
    for (int32_t i = 0; i < 200; i++) {
        words[i] = halves(drawn(-255, 256), drawn(-255, 256));
    }
    for (int32_t k = 0; k < 2; k++) {
        lt_columns_sums of = {each, each + n, biases, scales, odd, (int8_t *)mine[k] + 5, 7, words};
        if (any) {
            (k == 0 ? lt_columns_sum_any : twin_columns_sum_any)(&of);
        } else {
            (k == 0 ? lt_columns_sum : twin_columns_sum)(&of);
        }
    }
    wrong += differs();
    const void *rows[12];
    int32_t high = drawn(0, 12), before = drawn(0, 2), groups = drawn(1, 3), taken = 4 + before + high + 1,
            each_words = taken + (any ? 16 : 5);
    for (int32_t i = 0; i < 12; i++) {
        rows[i] = source + 20 * i + drawn(0, 4);
    }
    for (int32_t g = 0; g < groups; g++) {
        int32_t *record = words + g * each_words;
        for (int32_t i = 0; i < 4; i++) {
            record[i] = drawn(-(1 << 22), 1 << 22);
            record[taken + i] = multiplier();
        }
        for (int32_t i = 0; i < before + high + 1; i++) {
            record[4 + i] = bytes();
        }
        record[taken + 4] = shifts;
        for (int32_t *at = record + taken; any && at < record + each_words;) {
            at = any_scales(at);
        }
    }
    const int32_t *ends[2];
    for (int32_t k = 0; k < 2; k++) {
        lt_columns_taps of = {words, 3, rows, rows + high, 4 * before, 4, 3 + 4 * groups, halves(base, base), odd,
                              (int8_t *)mine[k] + 9};
        if (any) {
            ends[k] = (k == 0 ? lt_columns_tap_any : twin_columns_tap_any)(&of);
        } else {
            ends[k] = (k == 0 ? lt_columns_tap : twin_columns_tap)(&of);
        }
    }
    return wrong + differs() + (ends[0] != ends[1]);
}

static int32_t fours(int32_t any)
{
    static int32_t records[3 * (20 + 9 * 4)], x[9 * 6];
    int32_t wrong = 0, quads = drawn(1, 10), groups = drawn(1, 4), out_c = 4 * groups + 3;
    memset(mine, 0x55, sizeof mine);
    lt_4x2_unpack(mine[0] + 1, source + 1, source + 30, quads);
    twin_4x2_unpack(mine[1] + 1, source + 1, source + 30, quads);
    wrong += differs();
    lt_4x2_unpack_three(mine[0] + 1, source + 1, 30, quads);
    twin_4x2_unpack_three(mine[1] + 1, source + 1, 30, quads);
    wrong += differs();
    memset(mine, 0x55, sizeof mine);
    lt_4x2_unpack_flipped(mine[0] + 1, source + 1, source + 30, quads);
    twin_4x2_unpack_flipped(mine[1] + 1, source + 1, source + 30, quads);
    wrong += differs();
    int32_t *at = records;
    for (int32_t g = 0; g < groups; g++) {
        for (int32_t pair = 0; pair < 2; pair++) {
            at[pair] = drawn(-(1 << 22), 1 << 22);
            at[2 + pair] = at[pair] + 256 * drawn(-(1 << 21), 1 << 21);
        }
        at += 4;
        for (int32_t i = 0; i < quads * 4; i++) {
            int32_t low = 256 * drawn(-127, 128) + drawn(-128, 128);
            *at++ = halves(low, 256 * drawn(-127, 128) + drawn(-128, 128));
        }
        for (int32_t c = 0; c < 4; c++) {
            if (any) {
                at = any_scales(at);
                at[-3] += c & 1 ? 8 - 2 * (at[-3] & 0xFF) : 0; /* of sums that are 256 times what they are */
                continue;
            }
            int32_t shift = drawn(0, 16), odd = 2 * drawn(-128, 128) + 1;
            *at++ = multiplier();
            *at++ = (int32_t)((uint32_t)lt_centre(odd, shift) << 8 | (uint32_t)shift);
        }
    }
    for (int32_t pixels = any; pixels < (any ? 3 : 4); pixels++) { /* 0: one, packed */
        int32_t is_packed = pixels < 1 + any;
        lt_4x2 of[2];
        for (int32_t i = 0; i < 54; i++) {
            x[i] = is_packed ? bytes() : halves(drawn(-128, 128), drawn(-128, 128));
        }
        for (int32_t k = 0; k < 2; k++) {
            lt_4x2 each = {records, x, quads, (int8_t *)mine[k] + 5, out_c, groups};
            of[k] = each;
        }
        if (any) {
            (pixels == 1 ? lt_4x2_one_any : lt_4x2_two_any)(&of[0]);
            (pixels == 1 ? twin_4x2_one_any : twin_4x2_two_any)(&of[1]);
        } else {
            void (*const made[4])(lt_4x2 *) = {lt_4x2_one_packed, lt_4x2_one, lt_4x2_two, lt_4x2_three};
            void (*const twins[4])(lt_4x2 *) = {twin_4x2_one_packed, twin_4x2_one, twin_4x2_two, twin_4x2_three};
            made[pixels](&of[0]);
            twins[pixels](&of[1]);
        }
        wrong += differs() || of[0].records != of[1].records;
    }
    return wrong;
}

static int32_t additions(void)
{
    int32_t b_shift = drawn(1, 32), shift = drawn(0, 23);
    lt_add_narrow_s8 p = {-drawn(-128, 128) * (1 << 20),
                         -drawn(-128, 128) * (1 << 21),
                         (int32_t)(1U << (b_shift - 1)),
                         multiplier(),
                         b_shift,
                         lt_centre(2 * drawn(-128, 128) + 1, shift),
                         multiplier(),
                         shift,
                         (uint32_t)drawn(1, 30),
                         -128,
                         127};
    memset(mine, 0x55, sizeof mine);
    lt_add_narrow_sums(&p, source, source + 50, (int8_t *)mine[0] + 3);
    twin_add_narrow_sums(&p, source, source + 50, (int8_t *)mine[1] + 3);
    return differs();
}

/* Sums of int16 products, which wrap: with every number of fours, from any address of a half. */
static int32_t twos(void)
{
    static int8_t w[4 * 40];
    static int16_t x[3 * 40];
    int32_t wrong = 0, count = drawn(0, 10), channel = drawn(0, 41), pixel = drawn(0, 79), other = drawn(0, 80);
    for (int32_t i = 0; i < 4 * 40; i++) {
        w[i] = (int8_t)drawn(-128, 128);
    }
    for (int32_t i = 0; i < 3 * 40; i++) {
        x[i] = (int16_t)drawn(-32768, 32768);
    }
    memset(mine, 0x55, sizeof mine);
    for (int32_t i = 0; i < 4; i++) {
        mine[0][1 + i] = mine[1][1 + i] = drawn(INT32_MIN, INT32_MAX);
    }
    lt_2x2_pair(mine[0] + 1, w, channel, x + 1, pixel, count);
    twin_2x2_pair(mine[1] + 1, w, channel, x + 1, pixel, count);
    wrong += differs();
    lt_2x2_single(mine[0] + 1, w, channel, x + 1, count, other);
    twin_2x2_single(mine[1] + 1, w, channel, x + 1, count, other);
    wrong += differs();
    int32_t from = drawn(0, 3), to = drawn(0, 4);
    const void *rows[3] = {x, count & 1 ? NULL : x + 30, x + 61};
    lt_depthwise_s16 p = {0};
    p.weights = w;
    p.in_c = (uint16_t)drawn(4, 7);
    p.kernel_h = p.kernel_w = 3;
    p.dilation_w = (uint16_t)drawn(1, 3);
    for (int32_t i = 0; i < 4; i++) {
        mine[0][1 + i] = mine[1][1 + i] = drawn(-(1 << 24), 1 << 24);
    }
    lt_depthwise_s16_four(&p, rows, 1, from, to, p.in_c - 4, mine[0] + 1);
    twin_depthwise_s16_four(&p, rows, 1, from, to, p.in_c - 4, mine[1] + 1);
    return wrong + differs();
}

/* A matrix times a vector of any size, from any address, and a filter's state. */
static int32_t dots(void)
{
    int32_t wrong = 0, n = drawn(0, 40), row = drawn(0, 60), other = drawn(0, 130), at = drawn(0, 4), sums[2] = {0, 0};
    memset(mine, 0x55, sizeof mine);
    for (uint32_t i = 0; i < sizeof source; i++) {
        source[i] = (int8_t)drawn(-128, 128);
    }
    for (int32_t i = 0; i < 4; i++) {
        mine[0][1 + i] = mine[1][1 + i] = drawn(INT32_MIN, INT32_MAX);
    }
    lt_dots_s8(mine[0] + 1, source + at, row, source + 250, n, other);
    twin_dots_s8(mine[1] + 1, source + at, row, source + 250, n, other);
    wrong += differs();
    sums[0] = lt_svdf_move((int8_t *)mine[0] + 3, source + at, n + 1, row, at);
    sums[1] = twin_svdf_move((int8_t *)mine[1] + 3, source + at, n + 1, row, at);
    return wrong + differs() + (sums[0] != sums[1]);
}

/* Every sum below 1024, and some of any size, by factors at both ends: as gemmlowp rounds twice. */
static int32_t roundings(int32_t shift, int32_t zero)
{
    static const int32_t ends[] = {0x40000000, 0x40000001, 0x60000000, 0x7FFFFFFF};
    int32_t wrong = 0;
    for (int32_t i = -1024; i < 2048; i++) {
        for (int32_t k = 0; k < 5; k++) {
            int32_t x = i < 1024 ? i : drawn(-(1 << 28), 1 << 28) >> (i & 15);
            int32_t by = k < 4 ? ends[k] : multiplier();
            int32_t want = lt_divide_by_pot(lt_high_mul(x, by), shift + 1) + zero;
            int32_t got = lt_narrow_s8(2 * x, by, lt_centre(2 * zero + 1, shift), shift);
            wrong += got != lt_clamp(want, INT8_MIN, INT8_MAX);
        }
    }
    return wrong;
}

__attribute__((noreturn)) static void finish(const char *text, uint32_t code)
{
    uint32_t end[2] = {0x20026, code};
    harness_host(4, text);
    for (;;) {
        harness_host(0x20, end);
    }
}

void harness_fault(uint32_t cause, uint32_t pc, uint32_t detail, uint32_t address)
{
    (void)cause, (void)pc, (void)detail, (void)address;
    finish("a fault\n", 3);
}

void harness_run(void)
{
    int32_t wrong[7] = {0, 0, 0, 0, 0, 0, 0};
    for (int32_t i = 0; i < ROUNDS; i++) {
        wrong[0] += columns(0) + columns(1);
        wrong[1] += fours(0) + fours(1);
        wrong[2] += additions();
        wrong[4] += twos();
        wrong[5] += dots();
        wrong[6] += windows(0) + windows(1);
    }
    for (int32_t shift = 0; shift < 23; shift++) {
        for (int32_t zero = -128; zero < 128; zero += 51) {
            wrong[3] += roundings(shift, zero);
        }
    }
    char text[] = "wrong: ....... (columns, fours, additions, roundings, twos, dots, windows)\n";
    for (int32_t i = 0; i < 7; i++) {
        text[7 + i] = wrong[i] == 0 ? '0' : '1';
    }
    finish(text, 0);
}
