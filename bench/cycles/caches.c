/* A plugin for QEMU's translator: which accesses of a call pass a core's own caches, and which of these
 * miss a line in the cache of its flash.
 *
 * Arguments (numbers are hexadecimal; ranges are half-open):
 *     out=FILE             where to write
 *     call=ADDRESS         the function whose calls are counted; a call ends where `caller` goes on
 *     caller=FROM-TO
 *     flash=FROM-TO        memory that is read through `xip`
 *     xip=BYTES/WAYS/LINE
 *     icache=BYTES/WAYS/LINE, dcache=BYTES/WAYS/LINE
 *                          the core's own: of what it fetches, and of what it loads, in flash or not.
 *                          Stores write through, and bring no line in. Without one, each access is
 *                          passed on as a word.
 *
 * Caches are empty when a call begins; the line of a set that was used longest ago is replaced.
 *
 * It writes a line for every call, as bench/cycles/simulated.cpp does of the RTL:
 *     call FETCH_REFILLS DATA_REFILLS FETCHED FETCH_MISSES READ READ_MISSES
 * Refills are lines of the core's own caches; FETCHED and READ count words of flash.
 */
#include "qemu_plugin.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 4u

/* `lines` of each set, the one used last first; 0 is none, others are one higher. Without `sets`, there
 * is no such cache. */
struct cache {
    uint64_t ways, line_bytes, sets;
    uint64_t *lines;
};

enum { FETCH, DATA, SIDES };
static struct cache xip, own[SIDES];
static struct range caller, flash;
static uint64_t call_at, refills[SIDES], words[SIDES], misses[SIDES];
static bool in_call;
static const char *out_path;

static bool is_missing(struct cache *cache, uint64_t address)
{
    const uint64_t line = address / cache->line_bytes + 1;
    uint64_t *const set = cache->lines + (address / cache->line_bytes) % cache->sets * cache->ways;
    uint64_t way = 0;
    while (way + 1 < cache->ways && set[way] != line) {
        way++;
    }
    const bool missing = set[way] != line;
    memmove(set + 1, set, way * sizeof *set);
    set[0] = line;
    return missing;
}

static void read_word(int side, uint64_t address)
{
    if (inside(&flash, address)) {
        words[side]++;
        misses[side] += is_missing(&xip, address);
    }
}

static void read_memory(int side, uint64_t address)
{
    struct cache *const cache = &own[side];
    if (cache->sets == 0) {
        read_word(side, address);
        return;
    }
    if (!is_missing(cache, address)) {
        return;
    }
    refills[side]++;
    const uint64_t line = address - address % cache->line_bytes;
    for (uint64_t at = line; at < line + cache->line_bytes; at += WORD_BYTES) {
        read_word(side, at);
    }
}

static void empty(struct cache *cache)
{
    if (cache->sets != 0) {
        memset(cache->lines, 0, cache->sets * cache->ways * sizeof *cache->lines);
    }
}

static void begin_call(void)
{
    in_call = true;
    empty(&xip);
    for (int side = 0; side < SIDES; side++) {
        empty(&own[side]);
        refills[side] = words[side] = misses[side] = 0;
    }
}

static void end_call(void)
{
    FILE *const file = fopen(out_path, "a");
    in_call = false;
    if (file == NULL) {
        return; /* a missing file says so */
    }
    fprintf(file, "call %" PRIu64 " %" PRIu64, refills[FETCH], refills[DATA]);
    for (int side = 0; side < SIDES; side++) {
        fprintf(file, " %" PRIu64 " %" PRIu64, words[side], misses[side]);
    }
    fprintf(file, "\n");
    fclose(file);
}

static void on_fetch(unsigned cpu, void *data)
{
    const uint64_t address = *(const uint64_t *)data;
    (void)cpu;
    if (!in_call && address == call_at) {
        begin_call();
    } else if (in_call && inside(&caller, address)) {
        end_call();
    }
    if (in_call) {
        read_memory(FETCH, address);
    }
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if (in_call && !qemu_plugin_mem_is_store(info)) {
        read_memory(DATA, address);
    }
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *const instruction = qemu_plugin_tb_get_insn(tb, i);
        uint64_t *const address = malloc(sizeof *address);
        if (address == NULL) {
            fprintf(stderr, "caches: out of memory\n");
            exit(EXIT_FAILURE);
        }
        *address = qemu_plugin_insn_vaddr(instruction);
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_fetch, NO_REGISTERS, address);
        qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS, ANY_ACCESS, NULL);
    }
}

static bool read_cache(const char *text, struct cache *cache)
{
    uint64_t bytes;
    uint64_t *const ways = &cache->ways, *const line_bytes = &cache->line_bytes;
    if (sscanf(text, "%" SCNx64 "/%" SCNx64 "/%" SCNx64, &bytes, ways, line_bytes) != 3 || *ways == 0 ||
        *line_bytes == 0) {
        return false;
    }
    cache->sets = bytes / cache->ways / cache->line_bytes;
    cache->lines = calloc(cache->sets * cache->ways, sizeof *cache->lines);
    return cache->sets != 0 && cache->lines != NULL;
}

static bool read_argument(const char *argument)
{
    if (strncmp(argument, "out=", 4) == 0) {
        out_path = strdup(argument + 4);
        return out_path != NULL;
    }
    if (strncmp(argument, "caller=", 7) == 0) {
        return read_range(argument + 7, &caller);
    }
    if (strncmp(argument, "flash=", 6) == 0) {
        return read_range(argument + 6, &flash);
    }
    if (strncmp(argument, "xip=", 4) == 0) {
        return read_cache(argument + 4, &xip);
    }
    if (strncmp(argument, "icache=", 7) == 0) {
        return read_cache(argument + 7, &own[FETCH]);
    }
    if (strncmp(argument, "dcache=", 7) == 0) {
        return read_cache(argument + 7, &own[DATA]);
    }
    return sscanf(argument, "call=%" SCNx64, &call_at) == 1;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!read_argument(argv[i])) {
            fprintf(stderr, "caches: bad argument %s\n", argv[i]);
            return 1;
        }
    }
    if (out_path == NULL || call_at == 0 || caller.to == 0 || xip.sets == 0) {
        fprintf(stderr, "caches: needs out=, call=, caller=, flash= and xip=\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
