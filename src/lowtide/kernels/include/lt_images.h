/* SPDX-License-Identifier: Apache-2.0 */
/* lt_images.h: kernels that know of one image, run on each of a batch.
 *
 * The images' rows lie one after the other in a port. Rows that a window has of other images than its own
 * are padding, as those above and below all images are.
 */
#ifndef LT_IMAGES_H
#define LT_IMAGES_H

#include "lowtide.h"

/* One step of `run`, which has one input, and counts steps and rows from each image's first.
 *
 * step->in[0 .. count): the window; the pointers to rows of other images become null.
 * step->out, step->scratch: as `run` has them.
 */
typedef struct {
    lt_kernel run;
    const void *params;   /* of `run` */
    const int16_t *first; /* [steps]: the first row of each step's window, of its image's rows */
    uint16_t rows;        /* of an image, in the input */
    uint16_t steps;       /* for an image */
    uint16_t count;       /* rows of a window */
    uint16_t dilation;    /* from one of them to the next */
} lt_images;

void lt_images_row(const void *params, const lt_step *step);

#endif
