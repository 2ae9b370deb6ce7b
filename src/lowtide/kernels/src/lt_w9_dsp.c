/* SPDX-License-Identifier: Apache-2.0 */
/* lt_w9_dsp.c: see lt_w9.h. For cores with Arm's DSP extension: four channels at once, so that what is read of a
 * window serves all four. */
#include "lt_w9.h"

#include <stddef.h>

#include "lt_fixed.h"
#include "lt_four.h"

#if defined(LT_DSP) && !defined(LT_HELIUM)

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* Where the weights of four channels are, as lt_four.h has it, and a row of the window. */
typedef struct {
    const lt_w9_s8 *p;
    int32_t next, other;
    int32_t sums[4];
} quad;

/* Sums r4 to r7; r1 bytes, r2 weights, r3 how far those of the next channel are, r11 those of the third channel;
 * r8 and r9 bytes as halves, r10 weights, r12 the bits to flip, lr fours left. */
#define TWO(bytes)                                                                                   \
    "ldr r10, [r2, r3]\n\t"                                                                          \
    "smlad r5, " bytes ", r10, r5\n\t"                                                               \
    "ldr r10, [r2], #4\n\t"                                                                          \
    "smlad r4, " bytes ", r10, r4\n\t"                                                               \
    "ldr r10, [r11, r3]\n\t"                                                                         \
    "smlad r7, " bytes ", r10, r7\n\t"                                                               \
    "ldr r10, [r11], #4\n\t"                                                                         \
    "smlad r6, " bytes ", r10, r6\n\t"
/* Add the products of so many fours of bytes, at least one, and of the weights of four channels. */
static NAKED void add_fours(int32_t *sums UNUSED, const int8_t *x UNUSED, const int16_t *w UNUSED,
                            int32_t next UNUSED, int32_t other UNUSED, int32_t fours UNUSED, uint32_t flip UNUSED)
{
    __asm__("push {r4-r11, lr}\n\t"
            "ldrd r11, lr, [sp, #36]\n\t"
            "ldr r12, [sp, #44]\n\t"
            "lsl r3, r3, #1\n\t"
            "add r11, r2, r11, lsl #1\n\t"
            "ldm r0, {r4-r7}\n"
            "1:\n\t"
            "ldr r9, [r1], #4\n\t"
            "eor r9, r9, r12\n\t"
            "sxtb16 r8, r9\n\t"
            "sxtb16 r9, r9, ror #8\n\t" TWO("r8") TWO("r9") "subs lr, lr, #1\n\t"
            "bne 1b\n\t"
            "stm r0, {r4-r7}\n\t"
            "pop {r4-r11, pc}");
}

/* Add one byte times the weight at w, and those of the other channels. */
static inline void add_one(quad *of, int32_t byte, const int16_t *w)
{
    const int16_t *third = w + of->other;
    of->sums[0] = lt_add(of->sums[0], byte * w[0]);
    of->sums[1] = lt_add(of->sums[1], byte * w[of->next]);
    of->sums[2] = lt_add(of->sums[2], byte * third[0]);
    of->sums[3] = lt_add(of->sums[3], byte * third[of->next]);
}

/* n bytes; the first is of a whole four of the row of the window, or beyond all of these. */
static inline void add_bytes(quad *of, const int8_t *x, const int16_t *w, int32_t n)
{
    int32_t whole = n & ~3, flip = of->p->flip;
    if (whole > 0) {
        add_fours(of->sums, x, w, of->next, of->other, whole >> 2, (uint32_t)flip * 0x01010101U);
    }
    for (int32_t k = whole; k < n; k++) {
        add_one(of, (int8_t)(x[k] ^ flip), w + k);
    }
}

/* The same where all n bytes are padding. */
LT_APART static void add_padding(quad *of, const int16_t *w, int32_t n)
{
    const int16_t *lane[4] = {w, w + of->next, w + of->other, w + of->other + of->next};
    for (int32_t i = 0; i < 4; i++) {
        int32_t total = 0, k = 0;
        for (; k < (n & ~3); k += 4) {
            total = lt_dual(lt_load(lane[i] + k), 0x10001, total);
            total = lt_dual(lt_load(lane[i] + k + 2), 0x10001, total);
        }
        for (; k < n; k++) {
            total += lane[i][k];
        }
        of->sums[i] = lt_add(of->sums[i], total * of->p->input_zero);
    }
}

/* A row of the window of which all columns but `from` to `to` - 1 are padding; the first that is not is at x. */
LT_APART static void add_edge(quad *of, const int8_t *x, const int16_t *w, int32_t from, int32_t to)
{
    int32_t in_c = of->p->in_c, run = of->p->kernel_w * in_c, whole = run & ~3;
    from *= in_c;
    to *= in_c;
    if ((in_c & 3) == 0) { /* columns have whole fours */
        add_padding(of, w, from);
        add_bytes(of, x, w + from, to - from);
        add_padding(of, w + to, run - to);
        return;
    }
    for (int32_t k = 0; k < run; k++) {
        int32_t swapped = (k < whole) && (((k & 3) == 1) || ((k & 3) == 2));
        int32_t byte = ((k >= from) && (k < to)) ? (int8_t)(x[k - from] ^ of->p->flip) : of->p->input_zero;
        add_one(of, byte, w + (swapped ? (k ^ 3) : k));
    }
}

/* Add the products of the window that begins in column `first`, but for rows of padding. */
static inline void add_window(quad *of, const lt_step *step, int32_t first, const int16_t *w)
{
    const lt_w9_s8 *p = of->p;
    int32_t in_c = p->in_c, run = p->kernel_w * in_c, from = (first < 0) ? -first : 0;
    int32_t to = ((p->in_w - first) < p->kernel_w) ? (p->in_w - first) : p->kernel_w;
    for (int32_t ky = 0; ky < p->kernel_h; ky++, w += run) {
        const int8_t *row = step->in[ky];
        if (row == NULL) {
            continue;
        } else if (from >= to) {
            add_padding(of, w, run);
        } else if ((to - from) == p->kernel_w) {
            add_bytes(of, row + (first * in_c), w, run);
        } else {
            add_edge(of, row + ((first + from) * in_c), w, from, to);
        }
    }
}

/* What scales the sums of four channels, and where their results are in a pixel. */
typedef struct {
    int32_t multiplier[4], shift[4], centre[4], at[4];
} scales;

static void scale(const lt_w9_s8 *p, int32_t c, const uint8_t *lane, scales *of)
{
    for (int32_t k = 0; k < 4; k++) {
        int32_t i = c + lane[k], shift = p->shift[i];
        of->multiplier[k] = p->multiplier[i];
        of->shift[k] = (p->narrow != 0) ? (-1 - shift) : shift;
        of->centre[k] = (p->narrow != 0) ? lt_centre((2 * p->output_zero) + 1, of->shift[k]) : p->output_zero;
        of->at[k] = p->channels[i];
    }
}

/* Results of sums; of fewer than four channels, some twice. */
static inline void put(const lt_w9_s8 *p, const scales *of, const int32_t sums[4], int8_t *out)
{
    int32_t narrow = p->narrow, low = p->low, high = p->high;
    for (int32_t k = 0; k < 4; k++) {
        int32_t y = narrow ? lt_narrow_s8(lt_add(sums[k], sums[k]), of->multiplier[k], of->centre[k], of->shift[k])
                         : lt_add(lt_scale(sums[k], of->multiplier[k], of->shift[k]), of->centre[k]);
        out[of->at[k]] = (int8_t)lt_clamp(y, low, high);
    }
}

LT_SHARED void lt_w9_conv(const lt_w9_s8 *p, const lt_step *step)
{
    int32_t run = p->kernel_w * p->in_c, each = p->kernel_h * run, count = p->count;
    const lt_four to = lt_four_of(count, each);
    quad of = {p, to.next, to.other, {0, 0, 0, 0}};
    for (int32_t i = 0; i < count; i += 4) { /* the last four may have channels that were made before */
        int32_t c = lt_four_first(i, count), first = -p->pad_left, bias[4];
        const int16_t *w = p->weights + (c * each);
        scales by;
        int8_t *out = step->out[0];
        for (int32_t k = 0; k < 4; k++) {
            of.sums[k] = p->bias[c + to.of[k]];
        }
        scale(p, c, to.of, &by);
        for (int32_t ky = 0; ky < p->kernel_h; ky++) {
            if (step->in[ky] == NULL) {
                add_padding(&of, w + (ky * run), run);
            }
        }
        for (int32_t k = 0; k < 4; k++) {
            bias[k] = of.sums[k];
        }
        for (int32_t x = p->out_w; x > 0; x--, first += p->stride_w, out += p->out_c) {
            for (int32_t k = 0; k < 4; k++) {
                of.sums[k] = bias[k];
            }
            add_window(&of, step, first, w);
            put(p, &by, of.sums, out);
        }
    }
}

#endif
