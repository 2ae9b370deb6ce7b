/* A program made by hand, run through lt_stream.h: three rows in, doubled, out again.
 *
 *     turn 0: take row 0 of output 1, which is constant: before any row is given
 *     turn 1: three times { give a row; double it; take it as a row of output 0 }
 */
#include <stdio.h>
#include <string.h>

#include "lt_stream.h"

#define CHECK(x)                                  \
    do {                                          \
        if (!(x)) {                               \
            printf("line %d: %s\n", __LINE__, #x); \
            return 1;                             \
        }                                         \
    } while (0)

enum { ROWS = 3, BYTES = 2, FAILED = 42 };

typedef struct {
    lt_stream stream;
    uint8_t *bases[2];
    uint16_t next[4];
    void *pointers[2];
} net_t;

static void twice(const void *params, const lt_step *step)
{
    const uint8_t *const in = step->in[0];
    uint8_t *const out = step->out[0];
    (void)params;
    for (int i = 0; i < BYTES; i++) {
        out[i] = (uint8_t)(2 * in[i]);
    }
}

/* Each row of the input has a place of its own; those of the output share one. */
static const lt_kind kinds[] = {{twice, 1, 1}};
static const lt_rows rows[] = {
    {0, BYTES, ROWS, 0, 0}, {ROWS * BYTES, 0, ROWS, 0, 0}, {0, BYTES, 1, 1, 0}};
static const lt_port ports[] = {
    {0, 0, 1, LT_NONE, 1, 1}, {1, 0, 1, LT_NONE, 1, 1}, {2, 0, 1, LT_NONE, 1, 1}};
static const lt_node nodes[] = {
    {NULL, 0, 0, 0, LT_GIVE}, {NULL, 1, 0, 1, 0}, {NULL, 0, 1, 2, LT_TAKE}, {NULL, 1, 2, 3, LT_TAKE}};
static const lt_turn turns[] = {{3, 1}, {LT_LOOP + 3, ROWS}, {0, 1}, {1, 1}, {2, 1}};

static const lt_program program = {
    .kinds = kinds,
    .rows = rows,
    .ports = ports,
    .nodes = nodes,
    .turns = turns,
    .turn_count = 5,
    .counter_count = 4,
    .bases = offsetof(net_t, bases),
    .next = offsetof(net_t, next),
    .pointers = offsetof(net_t, pointers),
    .row_count = ROWS,
    .exchanges = LT_GIVES | LT_TAKES,
};

/* What was exchanged: "<input row>" and "[output row: bytes]"; `left` exchanges until one fails. */
static char log_[1000];
static int left;

static int pull(void *context, int input, int row, void *to)
{
    sprintf(log_ + strlen(log_), "<%d>", row);
    memset(to, 10 * (row + 1) + input, BYTES);
    return context == log_ && left-- != 0 ? LT_OK : FAILED;
}

static int take(void *context, int output, int row, const void *from)
{
    const uint8_t *const bytes = from;
    sprintf(log_ + strlen(log_), "[%d.%d: %d %d]", output, row, bytes[0], bytes[1]);
    return context == log_ && left-- != 0 ? LT_OK : FAILED;
}

static net_t net;
static uint8_t arena[ROWS * BYTES + BYTES];
static uint8_t constants[] = {7, 8};

static const char *logged(void)
{
    static char text[sizeof log_];
    strcpy(text, log_);
    log_[0] = '\0';
    return text;
}

#define LOGGED(text) (strcmp(logged(), text) == 0)

static int misuse(void)
{
    static const uint8_t row[BYTES];
    net_t unset;
    memset(&unset, 0, sizeof unset);
    CHECK(lt_stream_begin(&program, NULL) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_begin(&program, &unset) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_invoke(&program, NULL) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_next_row(&program, NULL) == NULL);
    CHECK(lt_stream_row_done(&program, NULL) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_push_rows(&program, NULL, row, 1, BYTES) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_push_rows(&program, &unset, row, 1, BYTES) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_set_pull(NULL, pull, NULL) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_set_pull(&net, NULL, NULL) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_set_take(NULL, take, NULL) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_set_take(&net, NULL, NULL) == LT_ERROR_ARGUMENT);

    /* Without callbacks; only what is needed must be there. */
    CHECK(lt_stream_begin(&program, &net) == LT_OK && net.stream.wanted == ROWS);
    CHECK(lt_stream_invoke(&program, &net) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_next_row(&program, &net) == NULL);
    CHECK(lt_stream_push_rows(&program, &net, row, 1, BYTES) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_set_take(&net, take, log_) == LT_OK);
    CHECK(lt_stream_invoke(&program, &net) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_push_rows(&program, &net, NULL, 1, BYTES) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_push_rows(&program, &net, row, -1, BYTES) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_push_rows(&program, &net, row, ROWS + 1, BYTES) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_push_rows(&program, &net, row, 0, BYTES) == LT_OK);
    CHECK(lt_stream_row_done(&program, &net) == LT_ERROR_ARGUMENT); /* no row was asked for */
    CHECK(net.stream.wanted == ROWS && LOGGED(""));
    CHECK(lt_stream_set_pull(&net, pull, log_) == LT_OK);
    return 0;
}

static int all_ways(void)
{
    static const uint8_t given[] = {10, 10, 20, 20, 30, 30};
    static const char taken[] = "[1.0: 7 8][0.0: 20 20][0.1: 40 40][0.2: 60 60]";
    left = -1;
    CHECK(lt_stream_invoke(&program, &net) == LT_OK && net.stream.wanted == 0);
    CHECK(LOGGED("[1.0: 7 8]<0>[0.0: 20 20]<1>[0.1: 40 40]<2>[0.2: 60 60]"));

    CHECK(lt_stream_next_row(&program, &net) == NULL);
    CHECK(lt_stream_row_done(&program, &net) == LT_ERROR_ARGUMENT);
    CHECK(lt_stream_begin(&program, &net) == LT_OK && LOGGED(""));
    for (int r = 0; r < ROWS; r++) {
        CHECK(net.stream.wanted == ROWS - r);
        CHECK(lt_stream_next_row(&program, &net) == arena + r * BYTES);
        memcpy(lt_stream_next_row(&program, &net), given + r * BYTES, BYTES);
        CHECK(lt_stream_row_done(&program, &net) == LT_OK);
    }
    CHECK(net.stream.wanted == 0 && LOGGED(taken));

    for (int n = 1; n <= ROWS; n++) { /* no begin: what is pushed begins a run */
        for (int done = 0; done < ROWS; done += n) {
            const int some = n < ROWS - done ? n : ROWS - done;
            CHECK(lt_stream_push_rows(&program, &net, given + done * BYTES, some, BYTES) == LT_OK);
            CHECK(net.stream.wanted == ROWS - done - some);
            CHECK(lt_stream_push_rows(&program, &net, given, ROWS + 1, BYTES) == LT_ERROR_ARGUMENT);
        }
        CHECK(LOGGED(taken));
    }

    /* Half a run is given up by each way to begin another. */
    CHECK(lt_stream_push_rows(&program, &net, given, 2, BYTES) == LT_OK && net.stream.wanted == 1);
    CHECK(lt_stream_begin(&program, &net) == LT_OK && net.stream.wanted == ROWS);
    CHECK(lt_stream_push_rows(&program, &net, given, 2, BYTES) == LT_OK && net.stream.wanted == 1);
    (void)logged();
    CHECK(lt_stream_invoke(&program, &net) == LT_OK && net.stream.wanted == 0);
    CHECK(strncmp(logged(), "[1.0: 7 8]<0>", 13) == 0);
    return 0;
}

/* Whichever exchange fails, its status comes back, nothing else is exchanged, and no row is wanted. */
static int failures(void)
{
    static const uint8_t given[BYTES] = {1, 1};
    for (int fail = 0; fail < 7; fail++) {
        left = fail;
        (void)logged();
        CHECK(lt_stream_invoke(&program, &net) == FAILED && net.stream.wanted == 0);
        CHECK(left == -1);
        CHECK(lt_stream_next_row(&program, &net) == NULL);
    }
    for (int fail = 0; fail < 4; fail++) {
        int status = lt_stream_begin(&program, &net);
        left = fail;
        (void)logged();
        for (int r = 0; status == LT_OK && r < ROWS; r++) {
            status = lt_stream_push_rows(&program, &net, given, 1, BYTES);
        }
        CHECK(status == FAILED && left == -1 && net.stream.wanted == 0);
    }
    left = 0; /* before the first row */
    CHECK(lt_stream_begin(&program, &net) == LT_OK);
    CHECK(lt_stream_next_row(&program, &net) == NULL && net.stream.wanted == 0);
    CHECK(lt_stream_row_done(&program, &net) == LT_ERROR_ARGUMENT);
    (void)logged();
    left = -1;
    CHECK(lt_stream_invoke(&program, &net) == LT_OK);
    CHECK(LOGGED("[1.0: 7 8]<0>[0.0: 20 20]<1>[0.1: 40 40]<2>[0.2: 60 60]"));
    return 0;
}

int main(void)
{
    net.bases[0] = arena;
    net.bases[1] = constants;
    return misuse() || all_ways() || failures();
}
