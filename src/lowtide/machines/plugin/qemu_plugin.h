/* What is used of QEMU's interface for plugins, and ranges of addresses.
 *
 * QEMU's header for plugins is not installed everywhere, so what is used of it is declared here: these
 * functions have been the same since version 1 of its interface, which changed around them.
 */
#ifndef LOWTIDE_QEMU_PLUGIN_H
#define LOWTIDE_QEMU_PLUGIN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef QEMU_PLUGIN_VERSION
#define QEMU_PLUGIN_VERSION 1
#endif

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, ANY_ACCESS = 3 }; /* of accesses: QEMU 7.2 mixes up reading and writing */

typedef void (*translated_call)(plugin_id, struct qemu_plugin_tb *);
typedef void (*ended_call)(plugin_id, void *);
typedef void (*executed_call)(unsigned, void *);
typedef void (*memory_call)(unsigned, uint32_t, uint64_t, void *);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, translated_call);
void qemu_plugin_register_atexit_cb(plugin_id, ended_call, void *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_call, int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, memory_call, int, int, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed_call, int, void *);
bool qemu_plugin_mem_is_store(uint32_t);
unsigned qemu_plugin_mem_size_shift(uint32_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

/* Half-open. */
struct range {
    uint64_t from, to;
};

static inline bool inside(const struct range *range, uint64_t address)
{
    return address >= range->from && address < range->to;
}

/* FROM-TO, hexadecimal. */
static inline bool read_range(const char *text, struct range *range)
{
    return sscanf(text, "%" SCNx64 "-%" SCNx64, &range->from, &range->to) == 2;
}

#endif
