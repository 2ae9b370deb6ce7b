/* Runs on an emulated board: reads commands from a file, and calls kernels as they say.
 *
 * Why a list of commands: all that is drawn, placed and compared is done on the host, where the same cases
 * have run before; here is only what a board alone can do. */
#include <string.h>

#include "harness.h"

#include "lowtide.h"

enum { OPEN = 1, WRITE0 = 4, WRITE = 5, READ = 6, EXIT = 0x20 };
enum { PUT = 1, FILL, CALL, TAKE };

typedef struct {
    uint32_t kind, address, bytes, value, in, out, scratch, row;
} command;

static uint8_t given[1 << 15], made[1 << 15];
static uint32_t at, end, used, source, target;

static uint32_t opened(const char *name, uint32_t mode)
{
    uint32_t block[3] = {(uint32_t)name, mode, (uint32_t)strlen(name)};
    return harness_host(OPEN, block);
}

static void flush(void)
{
    uint32_t block[3] = {target, (uint32_t)made, used};
    harness_host(WRITE, block);
    used = 0;
}

__attribute__((noreturn)) static void finish(const char *text, uint32_t code)
{
    uint32_t block[2] = {0x20026, code};
    flush();
    harness_host(WRITE0, text);
    for (;;) {
        harness_host(EXIT, block);
    }
}

static void hex(char *to, uint32_t word)
{
    for (int i = 7; i >= 0; i--, word >>= 4) {
        to[i] = "0123456789abcdef"[word & 15];
    }
}

void harness_fault(uint32_t cause, uint32_t pc, uint32_t detail, uint32_t address)
{
    char text[] = "fault at ........ for ........\n"; /* on the stack: nobody sets up .data here */
    (void)cause, (void)detail;
    hex(text + 9, pc);
    hex(text + 22, address);
    finish(text, 3);
}

static void get(uint8_t *to, uint32_t bytes)
{
    while (bytes > 0) {
        if (at == end) {
            uint32_t block[3] = {source, (uint32_t)given, sizeof given};
            end = sizeof given - harness_host(READ, block);
            at = 0;
            if (end == 0) {
                finish("end\n", 0);
            }
        }
        uint32_t now = end - at < bytes ? end - at : bytes;
        memcpy(to, given + at, now);
        at += now;
        to += now;
        bytes -= now;
    }
}

static void take(const uint8_t *from, uint32_t bytes)
{
    while (bytes > 0) {
        uint32_t now = sizeof made - used < bytes ? sizeof made - used : bytes;
        memcpy(made + used, from, now);
        used += now;
        from += now;
        bytes -= now;
        if (used == sizeof made) {
            flush();
        }
    }
}

void harness_run(void)
{
    at = end = used = 0;
    source = opened("cases", 1);
    target = opened("results", 5);
    for (;;) {
        command c;
        get((uint8_t *)&c, sizeof c);
        if (c.kind == PUT) {
            get((uint8_t *)c.address, c.bytes);
        } else if (c.kind == FILL) {
            memset((void *)c.address, (int)c.value, c.bytes);
        } else if (c.kind == CALL) {
            lt_step step = {(const void *const *)c.in, (void *const *)c.out, (void *)c.scratch,
                            (uint16_t)c.row};
            ((lt_kernel)c.address)((const void *)c.value, &step);
        } else {
            take((const uint8_t *)c.address, c.bytes);
        }
    }
}
