/* SPDX-License-Identifier: Apache-2.0 */
/* Copies runs of all sizes up to MOST between all places of a word, of exactly as many bytes as there are; and moves
 * such runs down, by up to PLACES bytes and one more than a run has. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lt_copy.h"

enum { MOST = 90, PLACES = 8 };

/* Ways to copy `size` bytes: as a run, as a piece, and as many runs of 1, 2, 3 bytes and so on. */
static void copy(uint8_t *to, const uint8_t *from, int32_t size, int32_t way)
{
    if (way == 0) {
        lt_copy_run(to, from, size);
    } else if (way == 1) {
        lt_copy_piece(to, from, size);
    } else {
        lt_copy_runs(to, way - 1, from, way - 1, way - 1, size / (way - 1));
    }
}

static int copies(int32_t size, int32_t to, int32_t from, int32_t way)
{
    uint8_t *source = malloc((size_t)(from + size)), *made = malloc((size_t)(to + size));
    int good = (source != NULL) && (made != NULL);
    for (int32_t i = 0; good && (i < (from + size)); i++) {
        source[i] = (uint8_t)rand();
    }
    for (int32_t i = 0; good && (i < (to + size)); i++) {
        made[i] = 7;
    }
    if (good) {
        copy(made + to, source + from, size, way);
    }
    for (int32_t i = 0; good && (i < (to + size)); i++) {
        good = made[i] == ((i < to) ? 7 : source[from + i - to]);
    }
    free(source);
    free(made);
    return good;
}

static int moves(int32_t size, int32_t to, int32_t by)
{
    uint8_t *moved = malloc((size_t)(to + by + size)), was[MOST];
    int good = (moved != NULL);
    for (int32_t i = 0; good && (i < (to + by + size)); i++) {
        moved[i] = (i < to) ? 7 : (uint8_t)rand();
    }
    for (int32_t i = 0; good && (i < size); i++) {
        was[i] = moved[to + by + i];
    }
    if (good) {
        lt_copy_down(moved + to, moved + to + by, size);
    }
    for (int32_t i = 0; good && (i < (to + size)); i++) {
        good = moved[i] == ((i < to) ? 7 : was[i - to]);
    }
    free(moved);
    return good;
}

int main(void)
{
    for (int32_t size = 1; size <= MOST; size++) {
        for (int32_t to = 0; to < PLACES; to++) {
            for (int32_t from = 0; from < PLACES; from++) {
                for (int32_t way = 0; way < PLACES; way++) {
                    if (((way < 2) || (size % (way - 1) == 0)) && !copies(size, to, from, way)) {
                        (void)printf("%d bytes from %d to %d\n", (int)size, (int)from, (int)to);
                        return 1;
                    }
                }
                if (!moves(size, to, from + 1) || !moves(size, to, size + 1)) {
                    (void)printf("%d bytes down to %d by %d\n", (int)size, (int)to, (int)(from + 1));
                    return 1;
                }
            }
        }
    }
    return 0;
}
