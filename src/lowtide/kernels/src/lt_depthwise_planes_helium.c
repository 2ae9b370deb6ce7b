/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_planes_helium.c: see lt_depthwise_planes.h. For cores with Arm's Helium.
 *
 * Windows of up to sixteen taps in assembly, since a compiler keeps neither sums nor pointers in
 * registers; lt_depthwise_planes.c says the same in C.
 */
#include "lt_depthwise_planes.h"

#include <stddef.h>

#include "lt_elem.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* Four channels of all pixels. r1, r3, r5, r9 windows, r0, r2, r4, r6 their sums, r7 output, r8 biases,
 * r10 pitch, r11 zero, r12 advance, lr pixels left; q2 multipliers, q3 shifts, q4 to q7 weights. Taps
 * beyond the last have weights of 0. NEXT takes a window's address to the next pixel's. */
#define NINE                                                                                         \
    "vpstttt\n\t"                                                                                    \
    "vldrbt.u8 q4, [r8], #9\n\t"                                                                     \
    "vldrbt.u8 q5, [r8], #9\n\t"                                                                     \
    "vldrbt.u8 q6, [r8], #9\n\t"                                                                     \
    "vldrbt.u8 q7, [r8], #9\n\t"
#define SOME(q)                                                                                      \
    "vpst\n\t"                                                                                       \
    "vldrbt.u8 " q ", [r8]\n\t"                                                                      \
    "add r8, r8, r0\n\t"
#define PIXELS(advance, WEIGHTS, NEXT)                                                                        \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "vpush {d8-d15}\n\t"                                                                     \
            "ldrd r1, r2, [r0]\n\t"                                                                  \
            "ldrd r8, r7, [r0, #8]\n\t"                                                              \
            "ldrd r10, r11, [r0, #16]\n\t"                                                           \
            "ldrd r12, r4, [r0, #24]\n\t"                                                            \
            "ldr r0, [r0, #32]\n\t"                                                                  \
            "add r3, r1, r2\n\t"                                                                     \
            "add r5, r3, r2\n\t"                                                                     \
            "add r9, r5, r2\n\t"                                                                     \
            "vctp.8 r0\n\t" WEIGHTS                                                                  \
            "vldrw.u32 q2, [r8, #16]\n\t"                                                            \
            "vldrw.u32 q3, [r8, #32]\n\t"                                                            \
            "dls lr, r4\n"                                                                           \
            "1:\n\t"                                                                                 \
            "ldm r8, {r0, r2, r4, r6}\n\t"                                                           \
            "vldrb.u8 q0, [r1]" advance "\n\t"                                                       \
            "vldrb.u8 q1, [r3]" advance "\n\t"                                                       \
            "vmladava.s8 r0, q0, q4\n\t"                                                             \
            "vldrb.u8 q0, [r5]" advance "\n\t"                                                       \
            "vmladava.s8 r2, q1, q5\n\t"                                                             \
            "vldrb.u8 q1, [r9]" advance "\n\t"                                                       \
            "vmladava.s8 r4, q0, q6\n\t"                                                             \
            "vmladava.s8 r6, q1, q7\n\t" NEXT                                                        \
            "vmov q0[2], q0[0], r0, r4\n\t"                                                          \
            "vmov q0[3], q0[1], r2, r6\n\t"                                                          \
            "vqrdmulh.s32 q0, q0, q2\n\t"                                                            \
            "vshr.s32 q1, q0, #31\n\t"                                                               \
            "vadd.i32 q0, q0, q1\n\t"                                                                \
            "vrshl.s32 q0, q0, q3\n\t"                                                               \
            "vadd.i32 q0, q0, r11\n\t"                                                               \
            "vqmovnb.s32 q0, q0\n\t"                                                                 \
            "vqmovnb.s16 q0, q0\n\t"                                                                 \
            "vstrb.32 q0, [r7]\n\t"                                                                  \
            "add r7, r7, r10\n\t"                                                                    \
            "le lr, 1b\n\t"                                                                          \
            "vpop {d8-d15}\n\t"                                                                      \
            "pop {r4-r11, pc}")

NAKED static void pixels_3(const lt_planes *of UNUSED)
{
    PIXELS(", #3", NINE, );
}

NAKED static void pixels_6(const lt_planes *of UNUSED)
{
    PIXELS(", #6", NINE, );
}

NAKED static void pixels_any(const lt_planes *of UNUSED)
{
    PIXELS("", SOME("q4") SOME("q5") SOME("q6") SOME("q7"),
           "add r1, r1, r12\n\tadd r3, r3, r12\n\tadd r5, r5, r12\n\tadd r9, r9, r12\n\t");
}

/* One channel of four pixels at most, of windows of 17 to 64 taps; `chunks` is known when this is compiled. */
LT_INLINE int32x4_t sums(const int8_t *const x[4], const int8x16_t *w, int32_t chunks)
{
    int32_t a = vmladavq_s8(vldrbq_s8(x[0]), w[0]), b = vmladavq_s8(vldrbq_s8(x[1]), w[0]);
    int32_t c = vmladavq_s8(vldrbq_s8(x[2]), w[0]), d = vmladavq_s8(vldrbq_s8(x[3]), w[0]);
    for (int32_t i = 1; i < chunks; i++) {
        a = vmladavaq_s8(a, vldrbq_s8(x[0] + 16 * i), w[i]);
        b = vmladavaq_s8(b, vldrbq_s8(x[1] + 16 * i), w[i]);
        c = vmladavaq_s8(c, vldrbq_s8(x[2] + 16 * i), w[i]);
        d = vmladavaq_s8(d, vldrbq_s8(x[3] + 16 * i), w[i]);
    }
    int32x4_t all;
    __asm__("vmov %q0[2], %q0[0], %1, %3\n\t"
            "vmov %q0[3], %q0[1], %2, %4"
            : "=&w"(all)
            : "r"(a), "r"(b), "r"(c), "r"(d));
    return all;
}

LT_INLINE void channels(const lt_planes *of, int32_t chunks)
{
    const int8_t *w = (const int8_t *)of->record, *plane = of->planes;
    const int32_t *scale = of->record + of->taps;
    uint32x4_t to = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)of->pitch);
    int32_t n = of->pixels, zero = of->zero, advance = of->advance;
    for (int32_t lane = 0; lane < 4; lane++, w += of->taps, scale++, plane += of->plane) {
        int8x16_t weights[4];
        for (int32_t i = 0; i < chunks; i++) {
            weights[i] = vldrbq_z_s8(w + 16 * i, vctp8q((uint32_t)(of->taps - 16 * i)));
        }
        int8_t *out = of->out + lane;
        for (int32_t x = 0; x < n; x += 4) {
            int32_t at = x + 4 <= n || n < 4 ? x : n - 4; /* the last four may make some again */
            const int8_t *a = plane + at * advance, *b = n > 1 ? a + advance : a;
            const int8_t *c = n > 2 ? b + advance : a, *d = n > 3 ? c + advance : a;
            const int8_t *const windows[4] = {a, b, c, d};
            int32x4_t made = vaddq_n_s32(sums(windows, weights, chunks), scale[0]);
            made = vqrdmulhq_n_s32(made, scale[4]);
            made = vrshlq_n_s32(vaddq_s32(made, vshrq_n_s32(made, 31)), scale[8]);
            made = vaddq_n_s32(made, zero);
            made = vminq_s32(vmaxq_s32(made, vdupq_n_s32(of->low)), vdupq_n_s32(of->high));
            vstrbq_scatter_offset_p_s32(out + at * of->pitch, to, made, vctp32q((uint32_t)n));
        }
    }
}

LT_APART static void channels_2(const lt_planes *of)
{
    channels(of, 2);
}

LT_APART static void channels_3(const lt_planes *of)
{
    channels(of, 3);
}

LT_APART static void channels_4(const lt_planes *of)
{
    channels(of, 4);
}

/* What is copied to the planes: of each row that is there, fours or twos of columns, `more` of them, then
 * the last one, which begins `back` bytes before that would. Lanes are channels of a column, then of the
 * next one: their bytes are at `from` and go to `to`, of 8 or 16 bits. */
typedef struct {
    const void *const *rows;
    int32_t kernel_h;
    int8_t *planes;
    int32_t offset;
    int32_t in, out; /* from a four or two of columns to the next one */
    int32_t more;
    int32_t back_in, back_out;
    uint8x16_t from, to;
} source;

/* r1 rows, r2 how many are left, r3 planes, r4 offset, r5 in, r6 out, r7 more, r8 and r9 back, r0 from, r10 to;
 * q0 and q1 places. */
#define TAKE(load, store)                                                                            \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "vldrw.u32 q0, [r0, #40]\n\t"                                                           \
            "vldrw.u32 q1, [r0, #56]\n\t"                                                           \
            "ldm r0, {r1-r9}\n"                                                                      \
            "1:\n\t"                                                                                 \
            "ldr r0, [r1], #4\n\t"                                                                  \
            "cbz r0, 4f\n\t"                                                                        \
            "add r0, r0, r4\n\t"                                                                    \
            "mov r10, r3\n\t"                                                                       \
            "wls lr, r7, 3f\n"                                                                       \
            "2:\n\t" load " q2, [r0, q0]\n\t"                                                      \
            "add r0, r0, r5\n\t" store " q2, [r10, q1]\n\t"                                        \
            "add r10, r10, r6\n\t"                                                                  \
            "le lr, 2b\n"                                                                            \
            "3:\n\t"                                                                                 \
            "sub r0, r0, r8\n\t"                                                                    \
            "sub r10, r10, r9\n\t" load " q2, [r0, q0]\n\t" store " q2, [r10, q1]\n"              \
            "4:\n\t"                                                                                 \
            "add r3, r3, #1\n\t"                                                                    \
            "subs r2, r2, #1\n\t"                                                                   \
            "bne 1b\n\t"                                                                            \
            "pop {r4-r11, pc}")

NAKED static void take_fours(const source *from UNUSED)
{
    TAKE("vldrb.u8", "vstrb.8");
}

NAKED static void take_twos(const source *from UNUSED)
{
    TAKE("vldrb.u16", "vstrb.16");
}

/* The same of one column. */
static void take_one(const source *of)
{
    for (int32_t ky = 0; ky < of->kernel_h; ky++) {
        if (of->rows[ky] != NULL) {
            int32x4_t x = vldrbq_s32((const int8_t *)of->rows[ky] + of->offset);
            vstrbq_scatter_offset_s32(of->planes + ky, vreinterpretq_u32_u8(of->to), x);
        }
    }
}

/* Sets up all that is the same for all channels, and returns what takes four of them. */
static void (*begin(source *from, const lt_planes *of))(const source *)
{
    int32_t near = 3 * of->pitch + 3 <= UINT8_MAX && 3 * (of->plane + of->kernel_h) <= UINT8_MAX;
    int32_t many = of->columns > 3 && near ? 4 : of->columns > 1 ? 2 : 1;
    from->rows = of->rows;
    from->kernel_h = of->kernel_h;
    from->planes = of->planes + of->from * of->kernel_h;
    from->offset = of->offset;
    from->in = many * of->pitch;
    from->out = many * of->kernel_h;
    from->more = (of->columns - 1) / many;
    int32_t back = (from->more + 1) * many - of->columns;
    from->back_in = back * of->pitch;
    from->back_out = back * of->kernel_h;
    if (many == 4) {
        uint8x16_t lane = vidupq_n_u8(0, 1), channel = vandq_u8(lane, vdupq_n_u8(3));
        uint8x16_t column = vshrq_n_u8(lane, 2), to = vmulq_n_u8(channel, (uint8_t)of->plane);
        from->from = vaddq_u8(channel, vmulq_n_u8(column, (uint8_t)of->pitch));
        from->to = vaddq_u8(to, vmulq_n_u8(column, (uint8_t)of->kernel_h));
        return take_fours;
    }
    uint16x8_t lane = vidupq_n_u16(0, 1), channel = vandq_u16(lane, vdupq_n_u16(3));
    uint16x8_t column = vshrq_n_u16(lane, 2), to = vmulq_n_u16(channel, (uint16_t)of->plane);
    to = vaddq_u16(to, vmulq_n_u16(column, (uint16_t)of->kernel_h));
    from->from = vreinterpretq_u8_u16(vaddq_u16(channel, vmulq_n_u16(column, (uint16_t)of->pitch)));
    from->to = vreinterpretq_u8_u16(to);
    if (many == 1) { /* of 32 bits */
        from->to = vreinterpretq_u8_u32(vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)of->plane));
        return take_one;
    }
    return take_twos;
}

LT_SHARED void lt_planes_run(lt_planes *of)
{
    static void (*const wide[3])(const lt_planes *) = {channels_2, channels_3, channels_4};
    source from;
    void (*take)(const source *) = begin(&from, of);
    void (*make)(const lt_planes *) = pixels_any;
    int8_t *out = of->out;
    if (of->taps > 16) {
        make = wide[((of->taps - 1) >> 4) - 1];
    } else if (of->taps == 9 && (of->advance == 3 || of->advance == 6)) {
        make = of->advance == 3 ? pixels_3 : pixels_6;
    }
    for (int32_t left = of->pitch; left > 0; left -= 4) {
        int32_t again = left < 4 ? 4 - left : 0;
        of->out -= again;
        from.offset -= again;
        if (of->columns > 0) {
            take(&from);
        }
        make(of);
        of->record += of->taps + 12;
        of->out += 4;
        from.offset += 4;
    }
    if (of->taps <= 16 && (of->low > INT8_MIN || of->high < INT8_MAX)) {
        int8x16_t low = vdupq_n_s8((int8_t)of->low), high = vdupq_n_s8((int8_t)of->high);
        for (int32_t left = of->pixels * of->pitch; left > 0; left -= 16, out += 16) {
            mve_pred16_t some = vctp8q((uint32_t)left);
            vstrbq_p_s8(out, vminq_s8(vmaxq_s8(vldrbq_z_s8(out, some), low), high), some);
        }
    }
}

#endif
