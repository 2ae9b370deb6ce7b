/* Calls kernels, and says where one of them faults: in memory of guard pages, or by what C forbids.
 *
 * Why in C: a fault must be caught where it happens, and rows are copied a million times. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "lowtide.h"

enum { SIGNALS = 5, FENCE = 48 };

typedef struct {
    int64_t signal, step;
    uint64_t address, pc;
} cases_fault;

static const int signals[SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
static struct sigaction before[SIGNALS];
static sigjmp_buf back;
static volatile sig_atomic_t playing;
static cases_fault *volatile noted;

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (!playing) { /* none of ours: as if we were not here */
        signal(number, SIG_DFL);
        return;
    }
    noted->signal = number;
    noted->address = (uint64_t)(uintptr_t)info->si_addr;
    noted->pc = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    playing = 0;
    siglongjmp(back, 1);
}

void cases_watch(int on)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    for (int i = 0; i < SIGNALS; i++) {
        if (on) {
            sigaction(signals[i], &action, &before[i]);
        } else {
            sigaction(signals[i], &before[i], NULL);
        }
    }
}

int cases_play(lt_kernel run, const void *params, const void *const *in, int in_count, void *const *out,
               int out_count, void *scratch, int scratch_bytes, int lasts, int steps, cases_fault *fault)
{
    static volatile int at;
    noted = fault;
    fault->signal = 0;
    if (sigsetjmp(back, 1)) {
        fault->step = at;
        return 1;
    }
    playing = 1;
    for (int i = 0; i < steps; i++) {
        lt_step step = {in + (int64_t)i * in_count, out + (int64_t)i * out_count, scratch, (uint16_t)i};
        at = i;
        if (i == 0 || !lasts) {
            memset(scratch, 0xC3 + i, (size_t)scratch_bytes);
        }
        run(params, &step);
    }
    playing = 0;
    return 0;
}

void cases_spread(void *const *to, const char *from, int64_t bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(to[i], from + i * bytes, (size_t)bytes);
    }
}

void cases_gather(void *const *from, char *to, int64_t bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + i * bytes, from[i], (size_t)bytes);
    }
}

void cases_fill(void *const *to, int value, int64_t bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memset(to[i], value, (size_t)bytes);
    }
}

/* Whether rows are still what they were. */
int cases_same(void *const *rows, const char *from, int64_t bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(rows[i], from + i * bytes, (size_t)bytes) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Sets bytes, or says whether one of them was changed. */
static int fence(uint64_t first, uint64_t last, int check)
{
    for (uint64_t at = first; at < last; at++) {
        uint8_t *byte = (uint8_t *)(uintptr_t)at;
        if (!check) {
            *byte = 0x6D;
        } else if (*byte != 0x6D) {
            return 1;
        }
    }
    return 0;
}

/* Bytes around each buffer, within [low, high): set, or found changed (the buffer's number, or -1). */
int64_t cases_fence(const uint64_t *at, const uint64_t *bytes, const uint64_t *low, const uint64_t *high,
                    int64_t count, int check)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t end = at[i] + bytes[i];
        if (fence(at[i] - low[i] > FENCE ? at[i] - FENCE : low[i], at[i], check) ||
            fence(end, high[i] - end > FENCE ? end + FENCE : high[i], check)) {
            return i;
        }
    }
    return -1;
}
