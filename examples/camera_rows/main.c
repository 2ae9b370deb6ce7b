/* Prints whether a person is in a picture. The whole picture is never in memory. */
#include <stdio.h>

#include "camera.h"
#include "vww.h"

#if VWW_INPUT_0_ROW_BYTES != CAMERA_LINE_BYTES || VWW_INPUT_0_ROWS != CAMERA_LINES
#error "the network takes other pictures"
#endif

int main(void)
{
    static vww_t net;
    static uint8_t arena[VWW_ARENA_SIZE] __attribute__((aligned(VWW_ARENA_ALIGN)));
    int status = vww_init(&net, arena, sizeof arena);
    for (int picture = 0; picture < 2 && status == LT_OK; picture++) {
        status = vww_begin(&net);
        camera_start();
        while (status == LT_OK && vww_rows_wanted(&net) > 0) {
            status = vww_push_rows(&net, camera_line(), 1); /* computes what this line makes possible */
            camera_next();
        }
        const int8_t *scores = vww_output(&net, 0);
        printf("nobody %d, somebody %d; %u lines waited at most, %u were lost\n", scores[0],
               scores[1], camera_most_waiting(), camera_lost());
    }
    printf("arena %u B, lines that wait %u B, a whole picture %u B\n", (unsigned)sizeof arena,
           (unsigned)(CAMERA_WAITING * CAMERA_LINE_BYTES),
           (unsigned)(CAMERA_LINES * CAMERA_LINE_BYTES));
    return status;
}
