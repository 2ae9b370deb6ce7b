/* lt_fully_connected_u8.c: see lt_fully_connected_u8.h. */
#include "lt_fully_connected_u8.h"

#include "lt_fixed.h"

/* x rounded, halves away from zero, for |x| < 2^31. */
static int32_t nearest(double x)
{
    int32_t whole = (int32_t)x;
    double rest = x - whole;
    return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole;
}

void lt_fully_connected_u8_row(const void *params, const lt_step *step)
{
    const lt_fully_connected_u8 *p = params;
    const uint8_t *in = step->in[0], *weights = p->weights;
    uint8_t *out = step->out[0];
    double scale = (double)p->scale + (double)p->scale_1 + (double)p->scale_2;
    LT_MACS(p->depth * p->out_c);
    for (int32_t c = 0; c < p->out_c; c++) {
        uint32_t sum = (uint32_t)p->bias[c];
        for (int32_t i = 0; i < p->depth; i++) {
            sum += (uint32_t)((in[i] - p->input_zero) * (*weights++ - p->weights_zero));
        }
        double y = (int32_t)sum * scale;
        y = y < -1e6 ? -1e6 : y > 1e6 ? 1e6 : y;
        *out++ = (uint8_t)lt_clamp(nearest(y) + p->output_zero, p->low, p->high);
    }
}
