/* guarded_4x2.c: guarded_block.c for blocks of lt_block_4x2.h, too. Their scratch memory is the arena's,
 * their rows are guarded. */
#include "lt_block_4x2.h"

#include "guarded_block.c"

void guarded_block_4x2(const void *params, const lt_step *step);
void guarded_separable_4x2(const void *params, const lt_step *step);

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

void guarded_block_4x2(const void *params, const lt_step *step)
{
    const lt_block_4x2_s8 *p = params;
    const lt_depthwise_mult1_s8 *core = p->depthwise;
    int32_t size = core != NULL ? core->channels : p->columns->channels;
    int32_t stride = core != NULL ? core->stride_w : p->columns->stride_w;
    int32_t height = core != NULL ? core->kernel_h : 3, width = core != NULL ? core->kernel_w : 3;
    int32_t made = p->pieces * p->piece;
    int32_t reads = least((made - 1) * stride + width - p->pad_left, p->in_w);
    run_guarded(params, step, height - p->kept, p->in_w * p->expand->in_c,
                made * (p->project != NULL ? p->project->out_c : size), p->kept, reads * size,
                lt_block_4x2_s8_row);
}

void guarded_separable_4x2(const void *params, const lt_step *step)
{
    const lt_block_4x2_s8 *p = params;
    const lt_depthwise_mult1_s8 *core = p->depthwise;
    int32_t size = core != NULL ? core->channels : p->columns->channels;
    run_guarded(params, step, core != NULL ? core->kernel_h : 3, p->in_w * size,
                p->pieces * p->piece * p->project->out_c, 0, 0, lt_separable_4x2_s8_row);
}
