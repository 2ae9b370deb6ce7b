/* guarded_quick.c: guarded_block.c for blocks of lt_block_4x2.h or, with QUICK_vector, lt_block_vector.h, too. Their
 * scratch memory is the arena's, their rows are guarded. */
#ifdef QUICK_vector
#include "lt_block_vector.h"
typedef lt_block_vector_s8 quick_params;
#define BLOCK lt_block_vector_s8_row
#define SEPARABLE lt_separable_vector_s8_row
#else
#include "lt_block_4x2.h"
typedef lt_block_4x2_s8 quick_params;
#define BLOCK lt_block_4x2_s8_row
#define SEPARABLE lt_separable_4x2_s8_row
#endif

#include "guarded_block.c"

void guarded_block_quick(const void *params, const lt_step *step);
void guarded_separable_quick(const void *params, const lt_step *step);

/* The depthwise convolution, by whichever kernel. */
typedef struct {
    int32_t channels, stride, height, width;
} quick_core;

static quick_core core_of(const quick_params *p)
{
    if (p->depthwise != NULL) {
        quick_core of = {p->depthwise->channels, p->depthwise->stride_w, p->depthwise->kernel_h,
                         p->depthwise->kernel_w};
        return of;
    }
#ifdef QUICK_vector
    quick_core of = {p->planes->channels, p->planes->stride_w, p->planes->kernel_h, p->planes->kernel_w};
#else
    quick_core of = {p->columns->channels, p->columns->stride_w, 3, 3};
#endif
    return of;
}

/* A step with guards around `fresh` rows of in_bytes, the output, and `kept` rows of kept_bytes. */
static void run_guarded(const void *params, const lt_step *step, int32_t fresh, int32_t in_bytes,
                        int32_t out_bytes, int32_t kept, int32_t kept_bytes,
                        void (*run)(const void *, const lt_step *))
{
    const void *in[LT_BLOCK_ROWS];
    void *out[1 + LT_BLOCK_ROWS];
    for (int32_t i = 0; i < fresh; i++) {
        in[i] = guard(step->in[i], in_bytes, 0, odd);
    }
    out[0] = rubbish(step->out[0], out_bytes, odd);
    for (int32_t i = 0; i < kept; i++) {
        out[1 + i] = guard(step->out[1 + i], kept_bytes, 1, odd);
    }
    lt_step inner = {in, out, step->scratch, step->row};
    run(params, &inner);
    finish();
    odd ^= 1;
}

void guarded_block_quick(const void *params, const lt_step *step)
{
    const quick_params *p = params;
    quick_core core = core_of(p);
    int32_t made = p->out_w;
    int32_t reads = least((made - 1) * core.stride + core.width - p->pad_left, p->in_w);
    run_guarded(params, step, core.height - p->kept, p->in_w * p->expand->in_c,
                made * (p->project != NULL ? p->project->out_c : core.channels), p->kept,
                reads * core.channels, BLOCK);
}

void guarded_separable_quick(const void *params, const lt_step *step)
{
    const quick_params *p = params;
    quick_core core = core_of(p);
    run_guarded(params, step, core.height, p->in_w * core.channels,
                p->out_w * p->project->out_c, 0, 0, SEPARABLE);
}
