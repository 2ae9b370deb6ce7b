/* A plugin for QEMU's translator that counts what one call of a program executes.
 *
 * It looks at an unchanged program from outside: QEMU tells it of every block of instructions that it
 * translates, and calls it back when one begins and when the step program's interpreter reads its table
 * of nodes. So it knows, for every node, how often which instructions ran, and which branches were
 * taken. Of several calls, it writes down the one that executed the most, of those that are not set aside.
 *
 * Arguments (numbers are hexadecimal; ranges are half-open):
 *     out=FILE             where to write
 *     empty=ADDRESS        a function that does nothing: only its instructions are counted
 *     call=ADDRESS         the function whose calls are counted; a call ends where `caller` goes on
 *     caller=FROM-TO
 *     nodes=FROM-TO/SIZE   the table of nodes, SIZE bytes each
 *     reader=FROM-TO       code that reads the table; may be given several times
 *     aside=NUMBER         a call, counted from 0, that is set aside; may be given several times
 *     all=1                all that is executed counts, as one call: then only `out` is needed
 *
 *     flash=FROM-TO        memory that is read through a cache; without it, no reads are counted
 *     cache=BYTES/WAYS/LINE
 *     data=BYTES/WAYS/LINE a cache for what is no instruction; without it, that one is for all
 *     prefetch=1           the line behind the one that instructions are fetched from is read ahead
 *     code=FROM-TO         what lies in flash, several times each; the rest are tables
 *     weights=FROM-TO
 *
 * Caches are empty when a call begins; the line of a set that was used longest ago is replaced. A line
 * that is read ahead goes to a buffer of one line, not to the cache.
 *
 * What it writes: "lowtide-profile 1", "empty COUNT", "call COUNT", with a cache a line
 * "flash BYTES MISSES AHEAD" for code, weights and tables each (AHEAD of the missed lines were read
 * ahead), then a line per node and block:
 *     NODE FIRST INSTRUCTIONS EXECUTED ENTERED LEFT
 * NODE is -1 before the first. FIRST is an address; INSTRUCTIONS is how many follow each other from there,
 * EXECUTED how often they ran; ENTERED, how often not from the instruction before FIRST; LEFT, how often
 * not to the one behind the last. Blocks may overlap.
 */
#include "qemu_plugin.h"

#include <stdlib.h>
#include <string.h>

struct record {
    long node;
    uint64_t executed, entered, left;
    struct record *next;
};

/* `last` is the address of its last instruction. `end` is that of the next one, or behind it: at the end
 * of a page QEMU adds to an instruction what it has read of the next. */
struct block {
    uint64_t first, last, end, instructions;
    struct record *records; /* the one used last comes first */
    struct block *next;
};

#define BUCKETS 4096u
#define READERS 64
#define PIECES 256
#define ASIDE 16

static struct block *blocks[BUCKETS];
static struct range caller, nodes, readers[READERS];
static int reader_count;
static uint64_t empty_at, call_at, node_bytes;
static uint64_t aside[ASIDE], calls; /* calls that are set aside; how many ended before this one */
static int aside_count;
static const char *out_path;
static bool counts_all;

enum { CODE, WEIGHTS, TABLES, KINDS };
static struct range flash, pieces[PIECES];
static int kinds[PIECES], piece_count;

/* Of each set, the line used last comes first; 0 is none, others are one higher. */
struct cache {
    uint64_t ways, line_bytes, sets, *lines;
};

static struct cache main_cache, data_cache; /* without sets: there is none */
static bool prefetches;
static uint64_t fetched; /* the line of the last instruction, one higher */
static uint64_t bytes_read[KINDS], misses[KINDS], ahead[KINDS];

static enum { OUTSIDE, IN_EMPTY, IN_CALL } where;
static uint64_t counted, empty_count, most;
static long node;
static const struct block *last; /* the block that ran last in this call, and its record */
static struct record *last_record;

static int kind_of(uint64_t address)
{
    for (int i = 0; i < piece_count; i++) {
        if (inside(&pieces[i], address)) {
            return kinds[i];
        }
    }
    return TABLES;
}

/* Reads a line through the cache. One that was `prefetched` is missed, but not kept. */
static void read_line(const struct cache *cache, int kind, uint64_t line, bool prefetched)
{
    uint64_t *const set = cache->lines + (line % cache->sets) * cache->ways;
    uint64_t way = 0;
    while (way + 1 < cache->ways && set[way] != line + 1) {
        way++;
    }
    if (set[way] != line + 1) {
        misses[kind]++;
        if (prefetched) {
            ahead[kind]++;
            return;
        }
    }
    memmove(set + 1, set, way * sizeof *set);
    set[0] = line + 1;
}

static void read_flash(const struct cache *cache, int kind, uint64_t address, uint64_t size)
{
    bytes_read[kind] += size;
    for (uint64_t line = address / cache->line_bytes; line <= (address + size - 1) / cache->line_bytes;
         line++) {
        read_line(cache, kind, line, false);
    }
}

/* With a buffer that reads ahead, the line that instructions run from is there, and is not looked for. */
static void fetch(uint64_t address, uint64_t size)
{
    if (!prefetches) {
        read_flash(&main_cache, CODE, address, size);
        return;
    }
    bytes_read[CODE] += size;
    for (uint64_t line = address / main_cache.line_bytes;
         line <= (address + size - 1) / main_cache.line_bytes; line++) {
        if (line + 1 != fetched) {
            read_line(&main_cache, CODE, line, line == fetched);
            fetched = line + 1;
        }
    }
}

static void *fresh(size_t size)
{
    void *const memory = calloc(1, size);
    if (memory == NULL) {
        fprintf(stderr, "lowtide-profile: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* The record of this block for the node that runs, moved to the front. */
static struct record *record_of(struct block *block)
{
    struct record **link = &block->records;
    while (*link != NULL && (*link)->node != node) {
        link = &(*link)->next;
    }
    struct record *record = *link;
    if (record == NULL) {
        record = fresh(sizeof *record);
        record->node = node;
    } else {
        *link = record->next;
    }
    record->next = block->records;
    block->records = record;
    return record;
}

static void write_call(void)
{
    FILE *const file = fopen(out_path, "w");
    if (file == NULL) {
        return; /* a missing file says so */
    }
    fprintf(file, "lowtide-profile 1\nempty %" PRIu64 "\ncall %" PRIu64 "\n", empty_count, counted);
    for (int kind = 0; main_cache.sets != 0 && kind < KINDS; kind++) {
        fprintf(file, "flash %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", bytes_read[kind], misses[kind],
                ahead[kind]);
    }
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (const struct block *b = blocks[i]; b != NULL; b = b->next) {
            for (const struct record *r = b->records; r != NULL; r = r->next) {
                if (r->executed != 0) {
                    fprintf(file, "%ld %" PRIx64 " %" PRIu64, r->node, b->first, b->instructions);
                    fprintf(file, " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", r->executed, r->entered,
                            r->left);
                }
            }
        }
    }
    fclose(file);
}

static void forget_counts(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (struct block *b = blocks[i]; b != NULL; b = b->next) {
            for (struct record *r = b->records; r != NULL; r = r->next) {
                r->executed = r->entered = r->left = 0;
            }
        }
    }
}

static bool is_aside(uint64_t call)
{
    for (int i = 0; i < aside_count; i++) {
        if (aside[i] == call) {
            return true;
        }
    }
    return false;
}

static void leave_call(void)
{
    if (where == IN_EMPTY) {
        empty_count = counted;
    } else if (!is_aside(calls++) && counted > most) {
        most = counted;
        write_call();
    }
    forget_counts();
    where = OUTSIDE;
}

static void on_end(plugin_id id, void *data)
{
    (void)id;
    (void)data;
    write_call();
}

static void empty_cache(const struct cache *cache)
{
    if (cache->sets != 0) {
        memset(cache->lines, 0, cache->sets * cache->ways * sizeof *cache->lines);
    }
}

static void on_block(unsigned cpu, void *data)
{
    struct block *const block = data;
    (void)cpu;
    if (where == OUTSIDE && !counts_all) {
        if (block->first != call_at && block->first != empty_at) {
            return;
        }
        where = block->first == call_at ? IN_CALL : IN_EMPTY;
        counted = 0;
        node = -1;
        empty_cache(&main_cache);
        empty_cache(&data_cache);
        fetched = 0;
        memset(bytes_read, 0, sizeof bytes_read);
        memset(misses, 0, sizeof misses);
        memset(ahead, 0, sizeof ahead);
        last = NULL;
        last_record = NULL;
    } else if (!counts_all && inside(&caller, block->first)) {
        if (last_record != NULL) {
            last_record->left++;
        }
        leave_call();
        return;
    }
    struct record *record = block->records;
    if (record == NULL || record->node != node) {
        record = record_of(block);
    }
    record->executed++;
    counted += block->instructions;
    if (last == NULL) {
        record->entered++;
    } else if (block->first <= last->last || block->first > last->end) {
        record->entered++;
        last_record->left++;
    }
    last = block;
    last_record = record;
}

static void on_read(unsigned cpu, uint32_t kind, uint64_t address, void *data)
{
    (void)cpu;
    (void)kind;
    (void)data;
    if (where == IN_CALL && inside(&nodes, address)) {
        node = (long)((address - nodes.from) / node_bytes);
    }
}

static void on_fetch(unsigned cpu, void *data)
{
    const struct range *const bytes = data;
    (void)cpu;
    if (where == IN_CALL) {
        fetch(bytes->from, bytes->to - bytes->from);
    }
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if (where == IN_CALL && inside(&flash, address)) {
        const struct cache *const cache = data_cache.sets != 0 ? &data_cache : &main_cache;
        read_flash(cache, kind_of(address), address, UINT64_C(1) << qemu_plugin_mem_size_shift(info));
    }
}

/* Counts what an instruction reads of flash, and the reading of itself. */
static void watch_flash(struct qemu_plugin_insn *instruction, uint64_t address)
{
    if (inside(&flash, address)) {
        struct range *const bytes = fresh(sizeof *bytes);
        bytes->from = address;
        bytes->to = address + qemu_plugin_insn_size(instruction);
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_fetch, NO_REGISTERS, bytes);
    }
    qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS, ANY_ACCESS, NULL);
}

/* The same instructions are translated again and again, in blocks that begin and end elsewhere. */
static struct block *block_of(uint64_t first, uint64_t last_one, uint64_t end, uint64_t instructions)
{
    struct block **const bucket = &blocks[(first >> 1) % BUCKETS];
    for (struct block *b = *bucket; b != NULL; b = b->next) {
        if (b->first == first && b->end == end && b->instructions == instructions) {
            return b;
        }
    }
    struct block *const block = fresh(sizeof *block);
    block->first = first;
    block->last = last_one;
    block->end = end;
    block->instructions = instructions;
    block->next = *bucket;
    *bucket = block;
    return block;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);
    uint64_t first = 0, address = 0, end = 0;
    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *const instruction = qemu_plugin_tb_get_insn(tb, i);
        address = qemu_plugin_insn_vaddr(instruction);
        if (i == 0) {
            first = address;
        }
        end = address + qemu_plugin_insn_size(instruction);
        if (main_cache.sets != 0) {
            watch_flash(instruction, address);
        }
        for (int r = 0; r < reader_count; r++) {
            if (inside(&readers[r], address)) {
                qemu_plugin_register_vcpu_mem_cb(instruction, on_read, NO_REGISTERS, ANY_ACCESS, NULL);
            }
        }
    }
    struct block *const block = block_of(first, address, end, count);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGISTERS, block);
}

static bool read_piece(const char *text, int kind)
{
    if (piece_count == PIECES) {
        return false;
    }
    kinds[piece_count] = kind;
    return read_range(text, &pieces[piece_count++]);
}

static bool read_cache(const char *text, struct cache *cache)
{
    uint64_t bytes = 0;
    if (sscanf(text, "%" SCNx64 "/%" SCNx64 "/%" SCNx64, &bytes, &cache->ways, &cache->line_bytes) !=
            3 ||
        cache->ways == 0 || cache->line_bytes == 0) {
        return false;
    }
    cache->sets = bytes / cache->ways / cache->line_bytes;
    cache->lines = fresh(cache->sets * cache->ways * sizeof *cache->lines);
    return cache->sets != 0;
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
    if (strncmp(argument, "cache=", 6) == 0) {
        return read_cache(argument + 6, &main_cache);
    }
    if (strncmp(argument, "data=", 5) == 0) {
        return read_cache(argument + 5, &data_cache);
    }
    if (strcmp(argument, "all=1") == 0) {
        counts_all = true;
        return true;
    }
    if (strcmp(argument, "prefetch=1") == 0) {
        prefetches = true;
        return true;
    }
    if (strncmp(argument, "code=", 5) == 0) {
        return read_piece(argument + 5, CODE);
    }
    if (strncmp(argument, "weights=", 8) == 0) {
        return read_piece(argument + 8, WEIGHTS);
    }
    if (strncmp(argument, "nodes=", 6) == 0) {
        const char *const size = strchr(argument, '/');
        return size != NULL && read_range(argument + 6, &nodes) &&
               sscanf(size, "/%" SCNx64, &node_bytes) == 1 && node_bytes != 0;
    }
    if (strncmp(argument, "aside=", 6) == 0) {
        return aside_count < ASIDE &&
               sscanf(argument + 6, "%" SCNx64, &aside[aside_count++]) == 1;
    }
    if (strncmp(argument, "reader=", 7) == 0) {
        return reader_count < READERS && read_range(argument + 7, &readers[reader_count++]);
    }
    return sscanf(argument, "empty=%" SCNx64, &empty_at) == 1 ||
           sscanf(argument, "call=%" SCNx64, &call_at) == 1;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!read_argument(argv[i])) {
            fprintf(stderr, "lowtide-profile: bad argument %s\n", argv[i]);
            return 1;
        }
    }
    if (out_path == NULL || (!counts_all && (call_at == 0 || caller.to == 0))) {
        fprintf(stderr, "lowtide-profile: needs out=, and call= and caller= or all=\n");
        return 1;
    }
    if (counts_all) {
        node = -1;
        qemu_plugin_register_atexit_cb(id, on_end, NULL);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
