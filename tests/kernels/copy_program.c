/* SPDX-License-Identifier: Apache-2.0 */
/* Copies runs of all sizes up to MOST between all places of a word, of exactly as many bytes as there are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lt_copy.h"

enum { MOST = 90, PLACES = 8 };

static int copies(int32_t size, int32_t to, int32_t from)
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
        lt_copy_run(made + to, source + from, size);
    }
    for (int32_t i = 0; good && (i < (to + size)); i++) {
        good = made[i] == ((i < to) ? 7 : source[from + i - to]);
    }
    free(source);
    free(made);
    return good;
}

int main(void)
{
    for (int32_t size = 1; size <= MOST; size++) {
        for (int32_t to = 0; to < PLACES; to++) {
            for (int32_t from = 0; from < PLACES; from++) {
                if (!copies(size, to, from)) {
                    (void)printf("%d bytes from %d to %d\n", (int)size, (int)from, (int)to);
                    return 1;
                }
            }
        }
    }
    return 0;
}
