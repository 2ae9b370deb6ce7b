/* The functions of host_program.h in a process of their own, where a sanitizer's report or a crash ends
 * nothing else.
 *
 * Requests come on stdin as four int64_t: what, samples, first, varied. What is 1, to run: then the
 * samples of input 0 follow, then those of input 1...; or 2, to reset. The reply on stdout, which also
 * comes once at the start, is two int64_t: the bytes of the trace's new records, and
 * multiply-accumulates; then the samples of each output, if any were run; then the records. What fails is
 * said on stderr, and ends the process with 1.
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "harness_model.h"
#include "host_program.h"

static const size_t input_bytes[] = HARNESS_INPUT_BYTES;
static const size_t output_bytes[] = HARNESS_OUTPUT_BYTES;

static void end(const char *what, int status)
{
    fprintf(stderr, "lowtide: %s %d\n", what, status);
    exit(1);
}

static void put(const void *data, size_t bytes)
{
    if (bytes > 0 && fwrite(data, bytes, 1, stdout) != 1) {
        end("reply", 0);
    }
}

static void *memory(size_t bytes)
{
    void *const made = malloc(bytes > 0 ? bytes : 1);
    if (made == NULL) {
        end("memory", 0);
    }
    return made;
}

static void reply(void *const *outputs, size_t samples)
{
    const uint8_t *records;
    const int64_t head[2] = {host_trace(&records), host_macs()};
    put(head, sizeof head);
    for (int i = 0; i < HARNESS_OUTPUTS && samples > 0; i++) {
        put(outputs[i], samples * output_bytes[i]);
    }
    put(records, (size_t)head[0]);
    fflush(stdout);
}

static void run(size_t samples, int64_t first, int varied)
{
    void *inputs[HARNESS_INPUTS + 1], *outputs[HARNESS_OUTPUTS + 1];
    for (int i = 0; i < HARNESS_INPUTS; i++) {
        const size_t bytes = samples * input_bytes[i];
        inputs[i] = memory(bytes);
        if (bytes > 0 && fread(inputs[i], bytes, 1, stdin) != 1) {
            end("request", 0);
        }
    }
    for (int i = 0; i < HARNESS_OUTPUTS; i++) {
        outputs[i] = memory(samples * output_bytes[i]);
    }
    const int status =
        host_run((const void *const *)inputs, outputs, (int64_t)samples, first, varied);
    if (status != 0) {
        end(host_failed(), status);
    }
    reply(outputs, samples);
    for (int i = 0; i < HARNESS_INPUTS; i++) {
        free(inputs[i]);
    }
    for (int i = 0; i < HARNESS_OUTPUTS; i++) {
        free(outputs[i]);
    }
}

int main(void)
{
    int64_t asked[4];
    (void)input_bytes; /* a model may have no inputs */
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    int status = host_open();
    if (status != 0) {
        end(host_failed(), status);
    }
    reply(NULL, 0);
    while (fread(asked, sizeof asked, 1, stdin) == 1) {
        if (asked[0] == 1) {
            run((size_t)asked[1], asked[2], (int)asked[3]);
            continue;
        }
        status = host_reset();
        if (status != 0) {
            end(host_failed(), status);
        }
        reply(NULL, 0);
    }
    host_close();
    return 0;
}
