/* SPDX-License-Identifier: Apache-2.0 */
/* lt_images.h: runs a kernel that handles one image on each image of a batch.
 *
 * The rows of the images follow each other in a port. If a window has rows of other images than its own, the
 * kernel sees them as padding, like the rows above and below all images.
 */
#ifndef LT_IMAGES_H
#define LT_IMAGES_H

#include "lowtide.h"

/* One step of `run`. This kernel has one input, and counts steps and rows from the first of each image.
 *
 * step->in[0 .. count): the window. The kernel sets pointers to rows of other images to null.
 * step->out, step->scratch: as `run` needs them.
 */
typedef struct {
    lt_kernel run;
    const void *params;   /* the params of `run` */
    const int16_t *first; /* [steps]: the first row of each step's window, counted in its image */
    uint16_t rows;        /* rows of an image in the input */
    uint16_t steps;       /* steps for an image */
    uint16_t count;       /* rows of a window */
    uint16_t dilation;    /* distance from one row of a window to the next */
} lt_images;

void lt_images_row(const void *params, const lt_step *step);

#endif
