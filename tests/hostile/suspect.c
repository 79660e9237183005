/* suspect.c - searches the guest's memory for addresses of the host. A word of the guest that looks like a host address
 * is only a suspicion, because guest data may have the same bits. So the same seed runs again in a new process, whose
 * code, libraries, stacks, mappings and heap lie elsewhere. If the word differs there, it is a host address. If it is
 * the same, it is guest data and not reported. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "vm_machine.h"

typedef struct word { /* a word of the guest's memory */
    /* the place in its allocation: the device address, or the size of memory that has a host address */
    uint64_t place;
    uint64_t offset, value;
} word;
typedef struct words {
    word *at;
    size_t count, capacity;
} words;

/* Kinds of host addresses in a process. An address of each kind differs in a process whose memory lies elsewhere.
 * Kernels get the address of the arena. */
enum { WITNESSES = 8 };
typedef struct witness {
    uint64_t at[WITNESSES], given;
} witness;

/* ---- which words look like a host address ---- */

static bool in_own_memory(const hostile_world *w, uint64_t value)
{
    if (value - (uintptr_t)w->arena < w->arena_bytes)
        return true;
    for (size_t k = 0; k < w->device->live_count; k++)
        if (w->device->live[k]->shared && value - w->device->live[k]->base + 65536 < 131072 + w->device->live[k]->bytes)
            return true;
    return false;
}

static bool is_mapped(uint64_t value)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        uint64_t from, to;
        char readable;
        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %c", &from, &to, &readable) == 3 && value >= from && value < to &&
                readable == 'r';
    }
    if (file)
        fclose(file);
    return found;
}

/* Tells whether a kernel could compute the value from its operands: the value is near an operand in some lane, or as far
 * from it as a window is from zero (cvta). */
static bool was_given(const hostile_world *w, uint64_t value)
{
    static const uint64_t windows[] = {0, VM_SHARED_BASE, VM_LOCAL_BASE, VM_CONST_BASE, VM_PARAM_BASE};
    const uint64_t near = (uint64_t)1 << 25;
    for (size_t k = 0; k + 1 < w->table_words; k++)
        for (uint64_t lane = 0; lane < VM_LANES; lane++)
            for (size_t n = 0; n < KILN__COUNT(windows); n++) {
                const uint64_t given = w->sets[k] + lane * w->sets[k + 1];
                if (value - given - windows[n] + near < 2 * near || value - given + windows[n] + near < 2 * near)
                    return true;
            }
    return false;
}

/* On x86-64 programs, libraries, heaps and stacks lie above 2^46. The sanitizer's own map of memory lies below. */
static bool may_be_pointer(uint64_t value) { return value >> 46 && !(value >> 48); }

/* Collects the words of memory that kernels can write and that may be pointers. If `suspects`, collects only mapped
 * addresses that no kernel could compute. Returns false if memory runs out. */
static bool collect(const hostile_world *w, bool suspects, words *out)
{
    for (size_t k = 0; k < w->device->live_count; k++) {
        const vm_allocation *a = w->device->live[k];
        if (a->constant || a->read_only || a->team)
            continue;
        for (size_t at = 0; at + 8 <= a->bytes; at += 8) {
            uint64_t value;
            memcpy(&value, a->host + at, 8);
            if (!may_be_pointer(value) ||
                (suspects && (in_own_memory(w, value) || !is_mapped(value) || was_given(w, value))))
                continue;
            if (!kiln__grow(NULL, &out->at, &out->capacity, out->count + 1, sizeof *out->at))
                return false;
            out->at[out->count++] = (word){a->base == (uintptr_t)a->host ? a->bytes : a->base, at, value};
        }
    }
    return true;
}

/* ---- the same seed in another process ---- */

static witness witness_of(const hostile_world *w)
{
    const unsigned char stack = 0;
    const vm_allocation *first = w->device->live[0];
    return (witness){{(uintptr_t)&hostile_run, (uintptr_t)&fopen, (uintptr_t)&stack, (uintptr_t)w->device,
                      (uintptr_t)w->sets, (uintptr_t)w->storage, (uintptr_t)w->linear, (uintptr_t)first->host},
                     (uintptr_t)w->arena};
}

static bool has_moved(const witness *here, const witness *there)
{
    for (unsigned k = 0; k < WITNESSES; k++)
        if (here->at[k] == there->at[k])
            return false;
    return true;
}

/* Returns true if a kernel made the word from an address that it was given. In both processes the word then has the
 * same distance from that address, or differs from it in the same bits. hostile_map() ensures that no other memory has
 * the same distance in both processes. */
static bool is_derived(const witness *here, const witness *there, uint64_t value, uint64_t other)
{
    const uint64_t a = here->given, b = there->given;
    bool alone = a != b;
    for (unsigned k = 0; k < WITNESSES; k++)
        alone = alone && here->at[k] - a != there->at[k] - b;
    return alone && (value - a == other - b || (value ^ a) == (other ^ b));
}

static unsigned displaced; /* the number of blocks by which memory is displaced; 0 means that this process is not a
                              repetition */

void hostile_displace(unsigned blocks)
{
    displaced = blocks;
    // the list of the blocks, which are never freed; `volatile` keeps the compiler from removing the allocations
    static void *volatile kept;
    for (unsigned n = 0; n < blocks; n++)
        for (size_t size = sizeof(void *); size <= 65536; size += size < 256 ? 16 : size / 8) {
            void **made = malloc(size);
            if (!made)
                return;
            *made = kept;
            kept = made;
        }
}

void *hostile_map(size_t bytes)
{
    void *usual = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!displaced || usual == MAP_FAILED)
        return usual;
    unsigned char *hint = (unsigned char *)usual - ((size_t)displaced << 24);
    void *moved = mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(usual, bytes);
    return moved;
}

static bool write_all(int file, const void *from, size_t bytes)
{
    const char *at = from;
    while (bytes) {
        const ssize_t done = write(file, at, bytes);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

bool hostile_show(const hostile_world *w, int file)
{
    words found = {0};
    const witness here = witness_of(w);
    const bool done = collect(w, false, &found) && write_all(file, &here, sizeof here) &&
                      (!found.count || write_all(file, found.at, found.count * sizeof *found.at));
    free(found.at);
    return done;
}

/* Reads everything from the file. The caller frees the result. Returns NULL if memory runs out or reading fails. */
static char *read_all(int file, size_t *bytes)
{
    size_t capacity = 0;
    char *text = NULL;
    for (*bytes = 0;;) {
        if (!kiln__grow(NULL, &text, &capacity, *bytes + 65536, 1))
            break;
        const ssize_t done = read(file, text + *bytes, 65536);
        if (done == 0)
            return text;
        if (done < 0 && errno != EINTR)
            break;
        *bytes += done > 0 ? (size_t)done : 0;
    }
    free(text);
    return NULL;
}

/* Replaces the process by one that has the same command line and runs only this seed. Returns on failure. */
static void become_repetition(uint64_t seed, unsigned blocks, int file)
{
    enum { WORDS = 64 };
    char number[24], moved[16], show[16], *given[WORDS + 16];
    size_t bytes = 0, count = 0;
    const int own = open("/proc/self/cmdline", O_RDONLY);
    char *line = own >= 0 ? read_all(own, &bytes) : NULL;
    if (!line)
        return;
    for (char *at = line; at < line + bytes; at += strlen(at) + 1) {
        if (count == WORDS)
            return;
        given[count++] = at;
    }
    snprintf(number, sizeof number, "%" PRIu64, seed);
    snprintf(moved, sizeof moved, "%u", blocks);
    snprintf(show, sizeof show, "%d", file);
    char *const more[] = {"--seed", number,       "--count", "1",      "--seconds", "0", "--jobs",
                          "1",      "--displace", moved,     "--show", show,        NULL};
    memcpy(given + count, more, sizeof more);
    const int nothing = open("/dev/null", O_WRONLY);
    if (nothing >= 0 && dup2(nothing, 1) == 1)
        execv("/proc/self/exe", given);
}

/* Runs the seed in a process whose heap is displaced by `blocks`. Returns its answer, which is a witness and then its
 * words, or NULL on failure. */
static char *repeat(uint64_t seed, unsigned blocks, size_t *bytes)
{
    int pipes[2], status = 0;
    if (pipe(pipes) != 0)
        return NULL;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        become_repetition(seed, blocks, pipes[1]);
        _exit(2);
    }
    close(pipes[1]);
    char *answer = child > 0 ? read_all(pipes[0], bytes) : NULL;
    close(pipes[0]);
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0 && answer && *bytes >= sizeof(witness) &&
        (*bytes - sizeof(witness)) % sizeof(word) == 0)
        return answer;
    free(answer);
    return NULL;
}

/* Returns the word at the same place in the other process, or NULL if it is no possible pointer there. */
static const word *word_at(const word *list, size_t count, const word *wanted)
{
    for (size_t k = 0; k < count; k++)
        if (list[k].place == wanted->place && list[k].offset == wanted->offset)
            return &list[k];
    return NULL;
}

bool hostile_has_host_address(const hostile_world *w, const uint64_t *seed, kiln__text *out)
{
    static const unsigned displacements[] = {17, 41, 97};
    const witness here = witness_of(w);
    witness there = {{0}, 0};
    words suspects = {0};
    char *answer = NULL;
    size_t bytes = 0, left = 0;
    if (!collect(w, true, &suspects)) {
        kiln__text_printf(out, "out of memory in the search for host addresses\n");
        free(suspects.at);
        return true;
    }
    for (unsigned k = 0; suspects.count && seed && !answer && k < KILN__COUNT(displacements); k++) {
        answer = repeat(*seed, displacements[k], &bytes);
        if (answer)
            memcpy(&there, answer, sizeof there);
        if (answer && !has_moved(&here, &there)) {
            free(answer);
            answer = NULL;
        }
    }
    if (suspects.count && seed && !answer)
        kiln__text_printf(out, "no process whose memory lies elsewhere could run the seed again\n");
    /* malloc() aligns the answer, and the size of a witness is a multiple of the alignment of a word. */
    const word *list = answer ? (const word *)(const void *)(answer + sizeof(witness)) : NULL;
    const size_t count = list ? (bytes - sizeof(witness)) / sizeof *list : 0;
    for (size_t k = 0; k < suspects.count; k++) {
        const word *s = &suspects.at[k], *other = word_at(list, count, s);
        const bool same = other && other->value == s->value,
                   derived = other && !same && is_derived(&here, &there, s->value, other->value);
        kiln__text_printf(out, "%s, 0x%" PRIx64 ", is in the guest's memory at 0x%" PRIx64 " + %" PRIu64 "\n",
                          same      ? "guest data that is the same in another process"
                          : derived ? "a word that a kernel made from an address that it was given"
                                    : "a host address",
                          s->value, s->place, s->offset);
        left += !same && !derived;
    }
    free(suspects.at);
    free(answer);
    return left > 0;
}

/* ---- planted words ---- */

/* Returns guest data that looks like an address, because the heap of the address sanitizer lies there. */
static uint64_t mapped_data(uint64_t value)
{
    const uint64_t page = value & ~(uint64_t)4095;
    if (!is_mapped(value) && mmap((void *)(uintptr_t)page, 4096, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        return 0;
    return value;
}

bool hostile_plant(hostile_world *w, const char *name)
{
    enum { OFFSET = 256, DERIVED = 0x50000000, DATA = 3 }; /* the last DATA kinds are guest data */
    const unsigned char stack = 0;
    const struct {
        const char *name;
        uint64_t value;
    } kinds[] = {{"code", (uintptr_t)&hostile_plant},
                 {"library", (uintptr_t)&fopen},
                 {"stack", (uintptr_t)&stack},
                 {"heap", (uintptr_t)w->device},
                 {"table", (uintptr_t)w->sets},
                 {"memory", (uintptr_t)w->device->live[0]->host},
                 {"bytes", 0x6f6f6f6f6f6f},
                 {"pair", 0x630e0000630e},
                 {"derived", (uintptr_t)w->arena ^ DERIVED}};
    for (unsigned k = 0; k < KILN__COUNT(kinds); k++) {
        unsigned char *at = vm_pointer(w->device, w->targets[3], OFFSET + 8);
        if (strcmp(name, kinds[k].name) != 0)
            continue;
        const uint64_t value = k + DATA < KILN__COUNT(kinds) ? kinds[k].value : mapped_data(kinds[k].value);
        if (!at || !value)
            return false;
        memcpy(at + OFFSET, &value, 8);
        return true;
    }
    return false;
}
