/* A model as the host calls it: the same few functions for every bundle, whatever its interface.
 *
 * Built as a shared library they are called in the caller's process; host_server.c calls them in one
 * of its own. There is one program in a library or process. Its arena, its state and the inputs that it
 * does not own come from the heap, each with exactly the size that the model asks for, so that the
 * address sanitizer sees every byte touched beyond it.
 */
#ifndef LOWTIDE_HOST_PROGRAM_H
#define LOWTIDE_HOST_PROGRAM_H

#include <stdint.h>

#ifdef _WIN32
#define HOST_API __declspec(dllexport)
#else
#define HOST_API __attribute__((visibility("default")))
#endif

/* Each returns 0, or what was returned by what failed, which host_failed names: "init", "invoke",
 * "reset", or "memory" if there is not enough of it, "call" for a missing input or output. */
HOST_API int host_open(void);
HOST_API int host_reset(void);
HOST_API void host_close(void);
HOST_API const char *host_failed(void);

/* Run `samples` samples, which lie one after the other in inputs[i], and whose outputs are written
 * one after the other to outputs[i]. The first of them has number `first` in a trace. The arena is
 * overwritten before each: nothing in it may be needed again.
 *
 * If `varied`, inputs that can be pushed are, in every second sample, one row, then two, then three
 * at a time; and a model that can runs each third sample in slices, of all lengths. Else each is one
 * call of NAME_invoke. */
HOST_API int host_run(const void *const *inputs, void *const *outputs, int64_t samples, int64_t first,
                      int varied);

/* Compiled with LT_TRACE, the model calls lt_trace after every row that it makes. There is a record of
 * each since this was called last: int32_t sample (-1 for what init makes), tensor, row, bytes, then the
 * bytes. They stay until host_run, host_reset or host_close. Returns how many bytes they are. */
HOST_API int64_t host_trace(const uint8_t **records);

/* Compiled with LT_COUNT: the multiply-accumulates of all that was run; else 0. */
HOST_API int64_t host_macs(void);

#endif
