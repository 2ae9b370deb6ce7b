/* SPDX-License-Identifier: Apache-2.0 */
/* lt_depthwise_planes_helium.c: see lt_depthwise_planes.h. For cores with Arm's Helium.
 *
 * In assembly, since a compiler keeps neither sums nor pointers in
 * registers; lt_depthwise_planes.c says the same in C.
 */
#include "lt_depthwise_planes.h"

#include <stddef.h>

#include "lt_elem.h"
#include "lt_fixed.h"

#ifdef LT_HELIUM

#include <arm_mve.h>

#define UNUSED __attribute__((unused))
#define NAKED __attribute__((naked))

/* Four channels of all pixels. r1, r3, r5, r9 windows, r0, r2, r4, r6 their sums, r7 output, r8 biases,
 * r10 pitch, r11 zero, r12 advance, lr pixels left; q2 multipliers, q3 shifts, q4 to q7 weights. Taps
 * beyond the last have weights of 0, r6 is how many channels there are before it is a sum. NEXT takes a window's address to the next pixel's. SCALED is as in
 * lt_conv_vector_helium.c; of any factors q3 has what is below 0 of exponents, what is above is on the stack. */
#define TIMES                                                                                        \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vshr.s32 q1, q0, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q1\n\t"
#define ANY_TIMES                                                                                    \
    "vldrw.u32 q1, [sp]\n\t"                                                                         \
    "vshl.s32 q0, q0, q1\n\t"                                                                        \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vand q1, q0, q3\n\t"                                                                            \
    "vshr.s32 q1, q1, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q1\n\t"
#define PUSH_LEFT                                                                                    \
    "vmov.i32 q1, #0\n\t"                                                                            \
    "vmax.s32 q1, q1, q3\n\t"                                                                        \
    "vsub.i32 q3, q3, q1\n\t"                                                                        \
    "vpush {d2-d3}\n\t"
#define POP_LEFT "add sp, sp, #16\n\t"
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
#define PIXELS(advance, WEIGHTS, NEXT, PUSH, SCALED, POP, STORE)                                    \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "vpush {d8-d15}\n\t"                                                                     \
            "ldrd r1, r2, [r0]\n\t"                                                                  \
            "ldrd r8, r7, [r0, #8]\n\t"                                                              \
            "ldrd r10, r11, [r0, #16]\n\t"                                                           \
            "ldrd r12, r4, [r0, #24]\n\t"                                                            \
            "ldrd r0, r6, [r0, #32]\n\t"                                                             \
            "add r3, r1, r2\n\t"                                                                     \
            "add r5, r3, r2\n\t"                                                                     \
            "add r9, r5, r2\n\t"                                                                     \
            "vctp.8 r0\n\t" WEIGHTS                                                                  \
            "vldrw.u32 q2, [r8, #16]\n\t"                                                            \
            "vldrw.u32 q3, [r8, #32]\n\t" PUSH                                                       \
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
            "vmov q0[3], q0[1], r2, r6\n\t" SCALED                                                   \
            "vrshl.s32 q0, q0, q3\n\t"                                                               \
            "vadd.i32 q0, q0, r11\n\t"                                                               \
            "vqmovnb.s32 q0, q0\n\t"                                                                 \
            "vqmovnb.s16 q0, q0\n\t"                                                                 \
            STORE " q0, [r7]\n\t"                                                                    \
            "add r7, r7, r10\n\t"                                                                    \
            "le lr, 1b\n\t" POP                                                                      \
            "vpop {d8-d15}\n\t"                                                                      \
            "pop {r4-r11, pc}")

NAKED static void pixels_3(const lt_planes *of UNUSED)
{
    PIXELS(", #3", NINE, , , TIMES, , "vstrb.32");
}

NAKED static void pixels_6(const lt_planes *of UNUSED)
{
    PIXELS(", #6", NINE, , , TIMES, , "vstrb.32");
}

#define SHAPE SOME("q4") SOME("q5") SOME("q6") SOME("q7")
#define ADVANCE "add r1, r1, r12\n\tadd r3, r3, r12\n\tadd r5, r5, r12\n\tadd r9, r9, r12\n\t"
NAKED static void pixels_any(const lt_planes *of UNUSED)
{
    PIXELS("", SHAPE, ADVANCE, , TIMES, , "vstrb.32");
}

/* The same of fewer than four channels. */
NAKED static void pixels_few(const lt_planes *of UNUSED)
{
    PIXELS("", SHAPE "vctp.32 r6\n\t", ADVANCE, , TIMES, , "vpst\n\tvstrbt.32");
}

/* Both of any factors. */
NAKED static void scaled_any(const lt_planes *of UNUSED)
{
    PIXELS("", SHAPE, ADVANCE, PUSH_LEFT, ANY_TIMES, POP_LEFT, "vstrb.32");
}

NAKED static void scaled_few(const lt_planes *of UNUSED)
{
    PIXELS("", SHAPE "vctp.32 r6\n\t", ADVANCE, PUSH_LEFT, ANY_TIMES, POP_LEFT, "vpst\n\tvstrbt.32");
}

/* The same of windows of 17 to 64 taps, whose weights are read for each pixel. r1 weights, r3 taps, r5 window,
 * r7 output, r8 biases, r9 plane, r10 a channel's weights, r11 pixels left, r12 taps; q4 zero, q5 what is above 0
 * of exponents; on the stack pitch, advance. */
#define WINDOW(sum)                                                                                  \
    "mov r1, r10\n\t"                                                                                \
    "dlstp.8 lr, r12\n"                                                                              \
    "2:\n\t"                                                                                         \
    "vldrb.u8 q0, [r3], #16\n\t"                                                                     \
    "vldrb.u8 q1, [r1], #16\n\t"                                                                     \
    "vmladava.s8 " sum ", q0, q1\n\t"                                                                \
    "letp lr, 2b\n\t"
#define NEXT_WEIGHTS "add r10, r10, r12\n\t"
#define LONG_ANY_TIMES                                                                               \
    "vshl.s32 q0, q0, q5\n\t"                                                                        \
    "vqrdmulh.s32 q0, q0, q2\n\t"                                                                    \
    "vand q1, q0, q3\n\t"                                                                            \
    "vshr.s32 q1, q1, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q1\n\t"
#define LONG_LEFT                                                                                    \
    "vmov.i32 q5, #0\n\t"                                                                            \
    "vmax.s32 q5, q5, q3\n\t"                                                                        \
    "vsub.i32 q3, q3, q5\n\t"
#define LONG(LEFT, SCALED)                                                                           \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "vpush {d8-d11}\n\t"                                                                     \
            "ldrd r1, r3, [r0, #16]\n\t" /* pitch, zero */                                           \
            "vdup.32 q4, r3\n\t"                                                                     \
            "ldrd r3, r11, [r0, #24]\n\t" /* advance, pixels */                                      \
            "push {r1, r3}\n\t"                                                                      \
            "ldrd r5, r9, [r0]\n\t"                                                                  \
            "ldrd r8, r7, [r0, #8]\n\t"                                                              \
            "ldrd r12, r6, [r0, #32]\n\t"                                                            \
            "vctp.32 r6\n\t"                                                                         \
            "add r8, r8, r12, lsl #2\n\t"                                                            \
            "vldrw.u32 q2, [r8, #16]\n\t"                                                            \
            "vldrw.u32 q3, [r8, #32]\n\t" LEFT "1:\n\t"                                              \
            "ldm r8, {r0, r2, r4, r6}\n\t"                                                           \
            "sub r10, r8, r12, lsl #2\n\t"                                                           \
            "mov r3, r5\n\t" WINDOW("r0") NEXT_WEIGHTS                                               \
            "add r3, r5, r9\n\t" WINDOW("r2") NEXT_WEIGHTS                                           \
            "add r3, r5, r9, lsl #1\n\t" WINDOW("r4") NEXT_WEIGHTS                                   \
            "add r3, r5, r9, lsl #1\n\t"                                                             \
            "add r3, r3, r9\n\t" WINDOW("r6")                                                        \
            "vmov q0[2], q0[0], r0, r4\n\t"                                                          \
            "vmov q0[3], q0[1], r2, r6\n\t" SCALED                                                   \
            "vrshl.s32 q0, q0, q3\n\t"                                                               \
            "vadd.i32 q0, q0, q4\n\t"                                                                \
            "vqmovnb.s32 q0, q0\n\t"                                                                 \
            "vqmovnb.s16 q0, q0\n\t"                                                                 \
            "vpst\n\t"                                                                               \
            "vstrbt.32 q0, [r7]\n\t"                                                                 \
            "ldrd r1, r3, [sp]\n\t"                                                                  \
            "add r7, r7, r1\n\t"                                                                     \
            "add r5, r5, r3\n\t"                                                                     \
            "subs r11, r11, #1\n\t"                                                                  \
            "bne 1b\n\t"                                                                             \
            "add sp, sp, #8\n\t"                                                                     \
            "vpop {d8-d11}\n\t"                                                                      \
            "pop {r4-r11, pc}")

NAKED static void long_pixels(const lt_planes *of UNUSED)
{
    LONG(, TIMES);
}

NAKED static void long_any(const lt_planes *of UNUSED)
{
    LONG(LONG_LEFT, LONG_ANY_TIMES);
}

/* One channel of fours of pixels, of windows of 17 to 64 taps. */
typedef struct {
    const int8_t *x;
    int32_t advance;
    const int8_t *w;
    int32_t last; /* taps beyond whole sixteens, 1 to 16 */
    int8_t *out;
    int32_t step; /* from a four's output to the next one's */
    int32_t zero, fours;
    int32_t lanes; /* how many pixels of each four are stored */
    int32_t bias, multiplier, shift;
    uint32x4_t places; /* of the outputs of four */
    int32_t left;      /* of any factors: by how much sums are shifted left */
} wide;

/* r1, r3, r5, r9 windows of four pixels, r0, r2, r4, r6 their sums, then what scales them; r7 output, r8 bias,
 * multiplier and shift, r10 step, r11 zero, r12 four advances, lr fours left; q2 places, q4 to q7 weights. */
#define CHUNK(sum, at, w)                                                                            \
    "vldrb.u8 q0, [r1, #" at "]\n\t"                                                                 \
    "vldrb.u8 q1, [r3, #" at "]\n\t" sum " r0, q0, " w "\n\t"                                        \
    "vldrb.u8 q0, [r5, #" at "]\n\t" sum " r2, q1, " w "\n\t"                                        \
    "vldrb.u8 q1, [r9, #" at "]\n\t" sum " r4, q0, " w "\n\t" sum " r6, q1, " w "\n\t"
#define FOURS_TIMES                                                                                  \
    "ldm r8, {r0, r2, r4}\n\t"                                                                       \
    "vadd.i32 q0, q0, r0\n\t"                                                                        \
    "vqrdmulh.s32 q0, q0, r2\n\t"                                                                    \
    "vshr.s32 q1, q0, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q1\n\t"
#define FOURS_ANY_TIMES                                                                              \
    "ldm r8, {r0, r2, r4}\n\t"                                                                       \
    "ldr r6, [r8, #28]\n\t"                                                                          \
    "vadd.i32 q0, q0, r0\n\t"                                                                        \
    "vshl.s32 q0, r6\n\t"                                                                            \
    "vqrdmulh.s32 q0, q0, r2\n\t"                                                                    \
    "vdup.32 q1, r4\n\t"                                                                             \
    "vand q1, q1, q0\n\t"                                                                            \
    "vshr.s32 q1, q1, #31\n\t"                                                                       \
    "vadd.i32 q0, q0, q1\n\t"
#define FOURS(WEIGHTS, CHUNKS, SCALED)                                                               \
    __asm__("push {r4-r11, lr}\n\t"                                                                  \
            "vpush {d8-d15}\n\t"                                                                     \
            "ldrd r1, r2, [r0]\n\t"                                                                  \
            "ldrd r4, r5, [r0, #8]\n\t"                                                              \
            "ldrd r7, r10, [r0, #16]\n\t"                                                            \
            "ldrd r11, r6, [r0, #24]\n\t"                                                            \
            "vctp.8 r5\n\t" WEIGHTS "ldr r5, [r0, #32]\n\t"                                          \
            "vctp.32 r5\n\t"                                                                         \
            "vldrw.u32 q2, [r0, #48]\n\t"                                                            \
            "add r8, r0, #36\n\t"                                                                    \
            "add r3, r1, r2\n\t"                                                                     \
            "add r5, r3, r2\n\t"                                                                     \
            "add r9, r5, r2\n\t"                                                                     \
            "lsl r12, r2, #2\n\t"                                                                    \
            "dls lr, r6\n"                                                                           \
            "1:\n\t" CHUNK("vmladav.s8", "0", "q4") CHUNKS                                           \
            "vmov q0[2], q0[0], r0, r4\n\t"                                                          \
            "vmov q0[3], q0[1], r2, r6\n\t" SCALED                                                   \
            "vrshl.s32 q0, r4\n\t"                                                                   \
            "vadd.i32 q0, q0, r11\n\t"                                                               \
            "vqmovnb.s32 q0, q0\n\t"                                                                 \
            "vqmovnb.s16 q0, q0\n\t"                                                                 \
            "vpst\n\t"                                                                               \
            "vstrbt.32 q0, [r7, q2]\n\t"                                                             \
            "add r1, r1, r12\n\t"                                                                    \
            "add r3, r3, r12\n\t"                                                                    \
            "add r5, r5, r12\n\t"                                                                    \
            "add r9, r9, r12\n\t"                                                                    \
            "add r7, r7, r10\n\t"                                                                    \
            "le lr, 1b\n\t"                                                                          \
            "vpop {d8-d15}\n\t"                                                                      \
            "pop {r4-r11, pc}")
#define WHOLE(q, at) "vldrb.u8 " q ", [r4, #" at "]\n\t"
#define LAST(q, at)                                                                                  \
    "vpst\n\t"                                                                                       \
    "vldrbt.u8 " q ", [r4, #" at "]\n\t"

#define TWO_CHUNKS WHOLE("q4", "0") LAST("q5", "16"), CHUNK("vmladava.s8", "16", "q5")
#define THREE_CHUNKS                                                                                 \
    WHOLE("q4", "0") WHOLE("q5", "16") LAST("q6", "32"),                                             \
        CHUNK("vmladava.s8", "16", "q5") CHUNK("vmladava.s8", "32", "q6")
#define FOUR_CHUNKS                                                                                  \
    WHOLE("q4", "0") WHOLE("q5", "16") WHOLE("q6", "32") LAST("q7", "48"),                           \
        CHUNK("vmladava.s8", "16", "q5") CHUNK("vmladava.s8", "32", "q6") CHUNK("vmladava.s8", "48", "q7")
#define FOURS_OF(name, chunks, scaled)                                                               \
    NAKED static void name(const wide *of UNUSED)                                                    \
    {                                                                                                \
        FOURS(chunks, scaled);                                                                       \
    }

FOURS_OF(fours_2, TWO_CHUNKS, FOURS_TIMES)
FOURS_OF(fours_3, THREE_CHUNKS, FOURS_TIMES)
FOURS_OF(fours_4, FOUR_CHUNKS, FOURS_TIMES)
FOURS_OF(any_2, TWO_CHUNKS, FOURS_ANY_TIMES)
FOURS_OF(any_3, THREE_CHUNKS, FOURS_ANY_TIMES)
FOURS_OF(any_4, FOUR_CHUNKS, FOURS_ANY_TIMES)

/* Four channels of all pixels; the last four may make some again, and of fewer the others are not stored. */
LT_INLINE void make_channels(const lt_planes *of, void (*make)(const wide *), int32_t any)
{
    int32_t n = of->pixels, chunks = (of->taps - 1) >> 4, turns = n >> 2, again = n & 3;
    const int32_t *scale = of->record + of->taps;
    const int8_t *x = of->planes;
    wide each;
    each.x = x;
    each.advance = of->advance;
    each.w = (const int8_t *)of->record;
    each.last = of->taps - (16 * chunks);
    each.step = 4 * of->pitch;
    each.zero = of->zero;
    each.fours = turns;
    each.lanes = 4;
    each.places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)of->pitch);
    for (int32_t lane = 0; lane < 4 && lane < of->channels; lane++, scale++, x += of->plane, each.w += of->taps) {
        each.bias = scale[0];
        each.multiplier = scale[4];
        each.shift = scale[8];
        if (any != 0) {
            each.left = scale[8] > 0 ? scale[8] : 0;
            each.shift -= each.left;
        }
        each.x = x;
        each.out = of->out + lane;
        make(&each);
        if (again != 0) {
            each.x += (n - 4) * of->advance;
            each.out += (n - 4) * of->pitch;
            each.fours = 1;
            make(&each);
            each.fours = turns;
        }
    }
}

static void channels(const lt_planes *of)
{
    static void (*const makes[3])(const wide *) = {fours_2, fours_3, fours_4};
    make_channels(of, makes[((of->taps - 1) >> 4) - 1], 0);
}

static void channels_any(const lt_planes *of)
{
    static void (*const makes[3])(const wide *) = {any_2, any_3, any_4};
    make_channels(of, makes[((of->taps - 1) >> 4) - 1], 1);
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
#define TAKE(load, store)                                                                           \
    __asm__("push {r4-r11, lr}\n\t"                                                                 \
            "vldrw.u32 q0, [r0, #40]\n\t"                                                           \
            "vldrw.u32 q1, [r0, #56]\n\t"                                                           \
            "ldm r0, {r1-r9}\n"                                                                     \
            "1:\n\t"                                                                                \
            "ldr r0, [r1], #4\n\t"                                                                  \
            "cbz r0, 4f\n\t"                                                                        \
            "add r0, r0, r4\n\t"                                                                    \
            "mov r10, r3\n\t"                                                                       \
            "wls lr, r7, 3f\n"                                                                      \
            "2:\n\t" load " q2, [r0, q0]\n\t"                                                       \
            "add r0, r0, r5\n\t" store " q2, [r10, q1]\n\t"                                         \
            "add r10, r10, r6\n\t"                                                                  \
            "le lr, 2b\n"                                                                           \
            "3:\n\t"                                                                                \
            "sub r0, r0, r8\n\t"                                                                    \
            "sub r10, r10, r9\n\t" load " q2, [r0, q0]\n\t" store " q2, [r10, q1]\n"                \
            "4:\n\t"                                                                                \
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
            const int8_t *row = (const int8_t *)of->rows[ky] + of->offset;
            int32x4_t x = vldrbq_gather_offset_s32(row, vreinterpretq_u32_u8(of->from));
            vstrbq_scatter_offset_s32(of->planes + ky, vreinterpretq_u32_u8(of->to), x);
        }
    }
}

/* Sets up all that is the same for all channels, and returns what takes four of them. */
LT_INLINE void (*begin(source *from, const lt_planes *of))(const source *)
{
    int32_t near = (((3 * of->next) + 3) <= UINT8_MAX) && ((3 * (of->plane + of->kernel_h)) <= UINT8_MAX);
    int32_t many = ((of->columns > 3) && near) ? 4 : (of->columns > 1) ? 2 : 1;
    from->rows = of->rows;
    from->kernel_h = of->kernel_h;
    from->planes = of->planes + (of->from * of->kernel_h);
    from->offset = of->offset;
    from->in = many * of->next;
    from->out = many * of->kernel_h;
    from->more = (of->columns - 1) / many;
    int32_t back = ((from->more + 1) * many) - of->columns;
    from->back_in = back * of->next;
    from->back_out = back * of->kernel_h;
    int32_t last = (of->channels < 4) ? (of->channels - 1) : 3; /* which a channel that is missing has the bytes of */
    if (many == 4) {
        uint8x16_t lane = vidupq_n_u8(0, 1), channel = vandq_u8(lane, vdupq_n_u8(3));
        uint8x16_t column = vshrq_n_u8(lane, 2), to = vmulq_n_u8(channel, (uint8_t)of->plane);
        channel = vminq_u8(channel, vdupq_n_u8((uint8_t)last));
        from->from = vaddq_u8(channel, vmulq_n_u8(column, (uint8_t)of->next));
        from->to = vaddq_u8(to, vmulq_n_u8(column, (uint8_t)of->kernel_h));
        return take_fours;
    }
    uint16x8_t lane = vidupq_n_u16(0, 1), channel = vandq_u16(lane, vdupq_n_u16(3));
    uint16x8_t column = vshrq_n_u16(lane, 2), to = vmulq_n_u16(channel, (uint16_t)of->plane);
    channel = vminq_u16(channel, vdupq_n_u16((uint16_t)last));
    to = vaddq_u16(to, vmulq_n_u16(column, (uint16_t)of->kernel_h));
    from->from = vreinterpretq_u8_u16(vaddq_u16(channel, vmulq_n_u16(column, (uint16_t)of->next)));
    from->to = vreinterpretq_u8_u16(to);
    if (many == 1) { /* of 32 bits */
        uint32x4_t each = vidupq_n_u32(0, 1);
        from->from = vreinterpretq_u8_u32(vminq_u32(each, vdupq_n_u32((uint32_t)last)));
        from->to = vreinterpretq_u8_u32(vmulq_n_u32(each, (uint32_t)of->plane));
        return take_one;
    }
    return take_twos;
}

/* Whether it pays to make fours of pixels of windows of more than sixteen taps, channel by channel. */
LT_INLINE int32_t by_fours(const lt_planes *of)
{
    return (of->pixels >= 16) || ((of->pixels >= 8) && ((of->pixels & 3) == 0));
}

LT_INLINE void run(lt_planes *of, int32_t any)
{
    source from;
    void (*take)(const source *) = begin(&from, of);
    void (*make)(const lt_planes *) = any ? scaled_any : pixels_any;
    int8_t *out = of->out;
    if (of->taps > 16) {
        if (by_fours(of) != 0) {
            make = any ? channels_any : channels;
        } else {
            make = any ? long_any : long_pixels;
        }
    } else if (of->channels < 4) {
        make = any ? scaled_few : pixels_few;
    } else if ((any == 0) && (of->taps == 9) && ((of->advance == 3) || (of->advance == 6))) {
        make = (of->advance == 3) ? pixels_3 : pixels_6;
    } else {
        /* any shape */
    }
    int32_t words = of->taps + 12, there = of->columns, left = of->channels, offset = from.offset;
    const int32_t *record = of->record;
    for (int8_t *at = out; left > 0; left -= 4) {
        if ((left < 4) && (of->channels > 4)) { /* some of the last four again */
            at -= 4 - left;
            offset -= 4 - left;
        }
        of->out = at;
        of->record = record;
        from.offset = offset;
        if (there > 0) {
            take(&from);
        }
        make(of);
        record += words;
        at += 4;
        offset += 4;
    }
}

LT_SHARED void lt_planes_clamp(int8_t *at, int32_t n, int32_t low, int32_t high)
{
    int8x16_t least = vdupq_n_s8((int8_t)low), most = vdupq_n_s8((int8_t)high);
    for (; n > 0; n -= 16, at += 16) {
        mve_pred16_t some = vctp8q((uint32_t)n);
        vstrbq_p_s8(at, vminq_s8(vmaxq_s8(vldrbq_z_s8(at, some), least), most), some);
    }
}

LT_SHARED void lt_planes_run(lt_planes *of)
{
    run(of, 0);
}

LT_SHARED void lt_planes_run_any(lt_planes *of)
{
    run(of, 1);
}

/* r0 to, r1 the value, r2 bytes left. */
LT_SHARED NAKED void lt_planes_fill(int8_t *to UNUSED, int32_t value UNUSED, int32_t n UNUSED)
{
    __asm__("push {r7, lr}\n\t"
            "vdup.8 q0, r1\n\t"
            "wlstp.8 lr, r2, 2f\n"
            "1:\n\t"
            "vstrb.8 q0, [r0], #16\n\t"
            "letp lr, 1b\n"
            "2:\n\t"
            "pop {r7, pc}");
}

#endif
