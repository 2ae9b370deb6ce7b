/* Runs a program of lowtide's on the RTL of a VexRiscv core, and counts its cycles.
 *
 *     simulated IMAGE FLASH RAM WAITS CACHE_BYTES WAYS LINE_BYTES MOST_CYCLES
 *
 * IMAGE is what flash holds, from its first address FLASH on; RAM is the first address of RAM. The
 * program's files are those of the folder that it runs in, as for an emulator.
 *
 *     core -+- instructions --+-- XIP cache -- flash, WAITS more cycles where a line is missing
 *           '- data ----------+-- RAM, no waits
 *                             '-- this computer, at the last four words of the address space
 *
 * Each bus has a way of its own to the cache and to RAM. A missing line comes whole. Of every call that
 * the program measures, it writes a line
 *     call CYCLES FETCHED FETCH_MISSES READ READ_MISSES RAM_READS RAM_WRITES
 * FETCHED and READ are accesses to flash, of a word or less; the cache is empty when a call begins.
 */
#include "VVexRiscv.h"
#include "verilated.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr uint32_t RAM_BYTES = 1u << 17;
/* The words through which the program speaks to this computer: see image.py. */
constexpr uint32_t CYCLES_LOW = 0xFFFFFFF0u, CYCLES_HIGH = 0xFFFFFFF4u;
constexpr uint32_t ARGUMENT = 0xFFFFFFF8u, OPERATION = 0xFFFFFFFCu;
/* What it may ask for: operations of semihosting. */
enum {
    SYS_OPEN = 1,
    SYS_CLOSE = 2,
    SYS_WRITE0 = 4,
    SYS_WRITE = 5,
    SYS_READ = 6,
    SYS_SEEK = 10,
    SYS_EXIT = 24
};
constexpr uint32_t EXIT_FINE = 0x20026u, OPEN_READ = 1u;

[[noreturn]] void fail(const char *why, uint32_t value)
{
    std::fprintf(stderr, "simulated: %s: %08" PRIx32 "\n", why, value);
    std::exit(EXIT_FAILURE);
}

/* A cache as the emulator's plugin models it: a set replaces the line that was used longest ago. */
class Cache {
public:
    Cache(uint32_t bytes, uint32_t ways, uint32_t line_bytes)
        : ways_(ways), line_bytes_(line_bytes), sets_(bytes / ways / line_bytes), lines_(sets_ * ways)
    {
    }

    void empty() { std::fill(lines_.begin(), lines_.end(), 0u); }

    /* Whether the line of an address had to be read. */
    bool misses(uint32_t address)
    {
        const uint32_t line = address / line_bytes_ + 1;
        uint32_t *const set = &lines_[(address / line_bytes_) % sets_ * ways_];
        uint32_t way = 0;
        while (way + 1 < ways_ && set[way] != line) {
            way++;
        }
        const bool missing = set[way] != line;
        std::memmove(set + 1, set, way * sizeof *set);
        set[0] = line;
        return missing;
    }

private:
    uint32_t ways_, line_bytes_, sets_;
    std::vector<uint32_t> lines_; /* one more than the number of a line; 0 is none */
};

struct Counts {
    uint64_t fetched, fetch_misses, read, read_misses, ram_reads, ram_writes;
};

class Memory {
public:
    Memory(std::vector<uint8_t> flash, uint32_t flash_at, uint32_t ram_at, uint32_t waits, Cache cache)
        : flash_(std::move(flash)), ram_(RAM_BYTES), flash_at_(flash_at), ram_at_(ram_at), waits_(waits),
          cache_(std::move(cache))
    {
    }

    bool ended = false;
    int exit_code = EXIT_FAILURE;
    uint64_t cycle = 0;

    /* How many cycles an access waits that begins now. */
    uint32_t waits(uint32_t address, bool write, bool fetch)
    {
        if (address - ram_at_ < RAM_BYTES) {
            (write ? counts_.ram_writes : counts_.ram_reads)++;
            return 0;
        }
        if (address - flash_at_ >= flash_.size()) {
            return 0;
        }
        const bool missing = cache_.misses(address);
        (fetch ? counts_.fetched : counts_.read)++;
        (fetch ? counts_.fetch_misses : counts_.read_misses) += missing;
        return missing ? waits_ : 0;
    }

    /* The word at an address that is a multiple of 4. */
    uint32_t read(uint32_t address)
    {
        if (address == CYCLES_LOW) {
            mark();
            return static_cast<uint32_t>(cycle);
        }
        if (address == CYCLES_HIGH) {
            return static_cast<uint32_t>(cycle >> 32);
        }
        if (address == OPERATION) {
            return result_;
        }
        uint32_t word = 0; /* a fetch that runs ahead may read what is not there */
        if (const uint8_t *const at = place(address, 4)) {
            std::memcpy(&word, at, 4);
        }
        return word;
    }

    void write(uint32_t address, uint32_t word, uint32_t bytes)
    {
        if (address == ARGUMENT) {
            argument_ = word;
        } else if (address == OPERATION) {
            result_ = host(word);
        } else if (address - ram_at_ < RAM_BYTES) {
            for (uint32_t i = 0; i < 4; i++) {
                if ((bytes >> i & 1u) != 0) {
                    ram_[address - ram_at_ + i] = static_cast<uint8_t>(word >> 8 * i);
                }
            }
        } else {
            fail("the program writes where no RAM is", address);
        }
    }

private:
    std::vector<uint8_t> flash_, ram_;
    uint32_t flash_at_, ram_at_, waits_;
    Cache cache_;
    Counts counts_{};
    uint64_t began_ = 0;
    bool in_call_ = false;
    uint32_t argument_ = 0, result_ = 0;
    std::vector<std::FILE *> files_;

    /* The program reads the cycles before and after a call. */
    void mark()
    {
        in_call_ = !in_call_;
        if (in_call_) {
            cache_.empty();
            counts_ = {};
            began_ = cycle;
            return;
        }
        std::printf("call %" PRIu64, cycle - began_);
        for (const uint64_t count : {counts_.fetched, counts_.fetch_misses, counts_.read,
                                     counts_.read_misses, counts_.ram_reads, counts_.ram_writes}) {
            std::printf(" %" PRIu64, count);
        }
        std::printf("\n");
        std::fflush(stdout);
    }

    uint8_t *place(uint32_t address, uint32_t bytes)
    {
        if (address - ram_at_ < RAM_BYTES && bytes <= RAM_BYTES - (address - ram_at_)) {
            return &ram_[address - ram_at_];
        }
        if (address - flash_at_ < flash_.size() && bytes <= flash_.size() - (address - flash_at_)) {
            return &flash_[address - flash_at_];
        }
        return nullptr;
    }

    uint8_t *data(uint32_t address, uint32_t bytes)
    {
        uint8_t *const at = place(address, bytes);
        if (at == nullptr) {
            fail("the program hands over what is no memory", address);
        }
        return at;
    }

    uint32_t word(uint32_t number)
    {
        uint32_t value;
        std::memcpy(&value, data(argument_ + 4 * number, 4), 4);
        return value;
    }

    std::FILE *file(uint32_t number)
    {
        if (number - 1 >= files_.size()) {
            fail("the program names a file that is not open", number);
        }
        return files_[number - 1];
    }

    /* What SYS_READ and SYS_WRITE answer, having transferred so many bytes. */
    uint32_t left_over(size_t bytes) { return word(2) - static_cast<uint32_t>(bytes); }

    uint32_t host(uint32_t operation)
    {
        switch (operation) {
        case SYS_OPEN: {
            const std::string name(reinterpret_cast<char *>(data(word(0), word(2))), word(2));
            files_.push_back(std::fopen(name.c_str(), word(1) == OPEN_READ ? "rb" : "wb"));
            return files_.back() == nullptr ? ~0u : static_cast<uint32_t>(files_.size());
        }
        case SYS_CLOSE:
            return std::fclose(file(word(0))) == 0 ? 0 : ~0u;
        case SYS_WRITE0:
            for (uint32_t at = argument_; *data(at, 1) != 0; at++) {
                std::fputc(*data(at, 1), stderr);
            }
            return 0;
        case SYS_WRITE:
            return left_over(std::fwrite(data(word(1), word(2)), 1, word(2), file(word(0))));
        case SYS_READ:
            return left_over(std::fread(data(word(1), word(2)), 1, word(2), file(word(0))));
        case SYS_SEEK:
            return std::fseek(file(word(0)), static_cast<long>(word(1)), SEEK_SET) == 0 ? 0 : ~0u;
        case SYS_EXIT:
            ended = true;
            exit_code = argument_ == EXIT_FINE ? EXIT_SUCCESS : EXIT_FAILURE;
            return 0;
        default:
            fail("the program asks for what is not known", operation);
        }
    }
};

/* A slave of one Wishbone bus: it answers in the cycle of the request, or so many cycles later. */
struct Bus {
    bool busy = false;
    uint32_t left = 0, asked = 0;

    bool answers(Memory &memory, uint32_t address, bool write, bool fetch)
    {
        if (!busy) {
            busy = true;
            asked = address;
            left = memory.waits(address, write, fetch);
        }
        if (address != asked) {
            fail("the core asks for something else before it has its answer", address);
        }
        if (left > 0) {
            left--;
            return false;
        }
        busy = false;
        return true;
    }
};

std::vector<uint8_t> contents(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

uint32_t number(const char *text)
{
    return static_cast<uint32_t>(std::strtoul(text, nullptr, 0));
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 9) {
        std::fprintf(stderr, "usage: simulated IMAGE FLASH RAM WAITS CACHE_BYTES WAYS LINE_BYTES "
                             "MOST_CYCLES\n");
        return 2;
    }
    const uint32_t flash_at = number(argv[2]);
    Memory memory(contents(argv[1]), flash_at, number(argv[3]), number(argv[4]),
                  Cache(number(argv[5]), number(argv[6]), number(argv[7])));
    const uint64_t most = std::strtoull(argv[8], nullptr, 0);
    VVexRiscv core;
    Bus instructions, data;
    core.externalResetVector = flash_at;
    core.reset = 1;
    for (int i = 0; i < 8; i++) {
        core.clk = 0;
        core.eval();
        core.clk = 1;
        core.eval();
    }
    core.reset = 0;
    while (!memory.ended) {
        /* Requests come from registers: that they are answered in their cycle does not change them. */
        core.iBusWishbone_ACK = 0;
        core.dBusWishbone_ACK = 0;
        if (core.dBusWishbone_CYC && core.dBusWishbone_STB) {
            const uint32_t address = core.dBusWishbone_ADR << 2;
            if (data.answers(memory, address, core.dBusWishbone_WE, false)) {
                core.dBusWishbone_ACK = 1;
                if (core.dBusWishbone_WE) {
                    memory.write(address, core.dBusWishbone_DAT_MOSI, core.dBusWishbone_SEL);
                } else {
                    core.dBusWishbone_DAT_MISO = memory.read(address);
                }
            }
        }
        if (core.iBusWishbone_CYC && core.iBusWishbone_STB) {
            const uint32_t address = core.iBusWishbone_ADR << 2;
            if (instructions.answers(memory, address, false, true)) {
                core.iBusWishbone_ACK = 1;
                core.iBusWishbone_DAT_MISO = memory.read(address);
            }
        }
        core.clk = 0;
        core.eval();
        core.clk = 1;
        core.eval();
        if (++memory.cycle > most) {
            fail("the program does not end", 0);
        }
    }
    core.final();
    return memory.exit_code;
}
