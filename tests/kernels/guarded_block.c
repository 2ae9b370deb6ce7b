/* guarded_block.c: a block's kernel with each row and its scratch memory in a place of their own.
 *
 * In an arena a kernel that leaves its rows meets other rows, and no sanitizer says so. Here it gets
 * copies that are as long as lt_block.h says and not a byte longer: on the host from the heap, where the
 * address sanitizer watches their ends; on a board between marks. What is to be written holds rubbish
 * before; what is read must be the same after; and the places themselves must not overlap.
 */
#include <stddef.h>
#include <string.h>

#include "lt_block.h"

void guarded_block(const void *params, const lt_step *step);
void guarded_separable(const void *params, const lt_step *step);

#define MOST 32 /* places of one step */

typedef struct {
    const void *place;
    int8_t *copy;
    size_t bytes;
    int32_t written;
} guarded;

static guarded all[MOST];
static int32_t count;
static size_t odd; /* 1 in every other step: rows begin at odd addresses */

#ifdef __arm__

#define GAP 16
#define MARK 0x5C
static int8_t pool[1 << 16] __attribute__((aligned(16)));
static size_t used;

static void fail(const char *what)
{
    (void)what;
    __builtin_trap();
}

static int8_t *take(size_t bytes, size_t past)
{
    int8_t *at = pool + used + GAP + past;
    size_t end = (used + GAP + past + bytes + GAP + 3) & ~(size_t)3;
    if (end > sizeof pool) {
        fail("the pool is too small");
    }
    memset(pool + used, MARK, end - used);
    used = end;
    return at;
}

static void give_back(int8_t *at, size_t bytes)
{
    for (int32_t i = 1; i <= GAP; i++) {
        if (at[-i] != MARK || at[(int32_t)bytes + i - 1] != MARK) {
            fail("a mark is gone");
        }
    }
    used = 0;
}

#else

#include <stdio.h>
#include <stdlib.h>

static size_t before[MOST];

static void fail(const char *what)
{
    fprintf(stderr, "guarded_block.c: %s\n", what);
    exit(77);
}

static int8_t *take(size_t bytes, size_t past)
{
    int8_t *at = malloc(past + bytes);
    if (at == NULL) {
        fail("no memory");
    }
    before[count] = past;
    return at + past;
}

static void give_back(int8_t *at, size_t bytes)
{
    (void)bytes;
    free(at - before[count]);
}

#endif

/* A copy of the `bytes` at `place`, `past` bytes off any great alignment; null if that is null. */
static void *guard(const void *place, int32_t bytes, int32_t written, size_t past)
{
    guarded *it = &all[count];
    if (place == NULL) {
        return NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        const int8_t *a = all[i].place, *b = place;
        if ((written || all[i].written) && a < b + bytes && b < a + all[i].bytes) {
            fail("rows overlap");
        }
    }
    it->place = place;
    it->bytes = (size_t)bytes;
    it->written = written;
    it->copy = take(it->bytes, past);
    memcpy(it->copy, place, it->bytes);
    count++;
    return it->copy;
}

/* The same of memory whose contents do not matter. */
static void *rubbish(void *place, int32_t bytes, size_t past)
{
    void *copy = guard(place, bytes, 1, past);
    if (copy != NULL) {
        memset(copy, 0x3B, (size_t)bytes);
    }
    return copy;
}

/* Compare what was read, hand over what was written, and forget all. */
static void finish(void)
{
    while (count > 0) {
        guarded *it = &all[--count];
        if (it->written) {
            memcpy((void *)(uintptr_t)it->place, it->copy, it->bytes);
        } else if (memcmp(it->place, it->copy, it->bytes) != 0) {
            fail("an input was changed");
        }
        give_back(it->copy, it->bytes);
    }
}

static int32_t words(int32_t bytes)
{
    return (bytes + 3) & ~3;
}

/* Scratch memory that a pointwise convolution of so many pixels needs. */
static int32_t pointwise(const lt_conv_packed_s8 *p, int32_t pixels)
{
    return p == NULL || p->lean || pixels == 1 ? 0 : 16 * p->quads;
}

static int32_t least(int32_t a, int32_t b)
{
    return (a < b) ? a : b;
}

static int32_t most(int32_t a, int32_t b)
{
    return (a > b) ? a : b;
}

/* What the kernels of a block need. */
static int32_t kernels(const lt_conv_packed_s8 *expand, int32_t columns,
                       const lt_depthwise_mult1_s8 *depthwise, int32_t lean,
                       const lt_conv_packed_s8 *project, int32_t piece)
{
    int32_t taps = lean ? 0 : 8 * depthwise->kernel_h * depthwise->kernel_w;
    return most(taps, most(pointwise(expand, columns), pointwise(project, piece)));
}

void guarded_block(const void *params, const lt_step *step)
{
    const lt_block_s8 *p = params;
    const lt_depthwise_mult1_s8 *core = p->depthwise;
    const void *in[LT_BLOCK_ROWS];
    void *out[1 + LT_BLOCK_ROWS];
    int32_t size = core->channels, fresh = core->kernel_h - p->kept, made = p->out_w;
    int32_t reads = least((made - 1) * core->stride_w + core->kernel_w - p->pad_left, p->in_w);
    int32_t columns = least((p->piece - 1) * core->stride_w + core->kernel_w, p->in_w);
    int32_t scratch = words(fresh * columns * size);
    if (p->project != NULL) {
        scratch += words(p->piece * size);
    }
    scratch += kernels(p->expand, columns, core, p->lean, p->project, p->piece);
    for (int32_t i = 0; i < fresh; i++) {
        in[i] = guard(step->in[i], p->in_w * p->expand->in_c, 0, odd);
    }
    out[0] = rubbish(step->out[0], made * (p->project != NULL ? p->project->out_c : size), odd);
    for (int32_t i = 0; i < p->kept; i++) {
        out[1 + i] = guard(step->out[1 + i], reads * size, 1, odd);
    }
    lt_step inner = {in, out, rubbish(step->scratch, scratch, 4), step->row};
    lt_block_s8_row(params, &inner);
    finish();
    odd ^= 1;
}

void guarded_separable(const void *params, const lt_step *step)
{
    const lt_block_s8 *p = params;
    const lt_depthwise_mult1_s8 *core = p->depthwise;
    const void *in[LT_BLOCK_ROWS];
    int32_t scratch = words(p->piece * core->channels);
    for (int32_t i = 0; i < core->kernel_h; i++) {
        in[i] = guard(step->in[i], p->in_w * core->channels, 0, odd);
    }
    void *out = rubbish(step->out[0], p->out_w * p->project->out_c, odd);
    scratch += kernels(NULL, 0, core, p->lean, p->project, p->piece);
    lt_step inner = {in, &out, rubbish(step->scratch, scratch, 4), step->row};
    lt_separable_s8_row(params, &inner);
    finish();
    odd ^= 1;
}
