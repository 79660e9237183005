/* suspect.c - addresses of the host in the guest's memory. A word of the guest that looks like a host address is a
 * suspicion: guest data may have the same bits. The same seed therefore runs again in a new process, whose code, libraries,
 * stacks, mappings and heap lie elsewhere. A host address differs there. Guest data is the same, and is no finding. */
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
    uint64_t place;   /* of its allocation: the device address, or the size of memory that has a host address */
    uint64_t offset, value;
} word;
typedef struct words {
    word *at;
    size_t count, capacity;
} words;

/* Host addresses in a process. Each of them is another one in a process whose memory lies elsewhere. */
enum { WITNESSES = 8 };
typedef struct witness {
    uint64_t at[WITNESSES];
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

/* Collects the words of memory that kernels can write and that may be pointers. suspects: only mapped addresses that no
 * kernel could compute. False: out of memory. */
static bool collect(const hostile_world *w, bool suspects, words *out)
{
    for (size_t k = 0; k < w->device->live_count; k++) {
        const vm_allocation *a = w->device->live[k];
        if (a->constant || a->read_only)
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
                      (uintptr_t)w->sets, (uintptr_t)w->storage, (uintptr_t)w->arena, (uintptr_t)first->host}};
}

static bool has_moved(const witness *here, const witness *there)
{
    for (unsigned k = 0; k < WITNESSES; k++)
        if (here->at[k] == there->at[k])
            return false;
    return true;
}

void hostile_displace(unsigned blocks)
{
    static void *volatile kept; /* the list of the blocks: no compiler leaves them out, and they stay */
    for (unsigned n = 0; n < blocks; n++)
        for (size_t size = sizeof(void *); size <= 65536; size += size < 256 ? 16 : size / 8) {
            void **made = malloc(size);
            if (!made)
                return;
            *made = kept;
            kept = made;
        }
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

/* Reads everything from the file. The caller frees the result. NULL: out of memory, or an error. */
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
    char number[24], displaced[16], show[16], *given[WORDS + 16];
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
    snprintf(displaced, sizeof displaced, "%u", blocks);
    snprintf(show, sizeof show, "%d", file);
    char *const more[] = {"--seed", number,       "--count", "1",      "--seconds", "0", "--jobs",
                          "1",      "--displace", displaced, "--show", show,        NULL};
    memcpy(given + count, more, sizeof more);
    const int nothing = open("/dev/null", O_WRONLY);
    if (nothing >= 0 && dup2(nothing, 1) == 1)
        execv("/proc/self/exe", given);
}

/* Runs the seed in a process whose heap is displaced by `blocks`. Returns what it shows, a witness and its words, or NULL. */
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

static bool has_word(const word *list, size_t count, const word *wanted)
{
    for (size_t k = 0; k < count; k++)
        if (memcmp(&list[k], wanted, sizeof *wanted) == 0)
            return true;
    return false;
}

bool hostile_has_host_address(const hostile_world *w, const uint64_t *seed, kiln__text *out)
{
    static const unsigned displacements[] = {17, 41, 97};
    const witness here = witness_of(w);
    words suspects = {0};
    char *answer = NULL;
    size_t bytes = 0, left = 0;
    if (!collect(w, true, &suspects)) {
        kiln__text_printf(out, "out of memory in the search for host addresses\n");
        free(suspects.at);
        return true;
    }
    for (unsigned k = 0; suspects.count && seed && !answer && k < KILN__COUNT(displacements); k++) {
        witness there;
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
    /* malloc() aligns the answer, and a witness is a multiple of a word's alignment. */
    const word *same = answer ? (const word *)(const void *)(answer + sizeof(witness)) : NULL;
    for (size_t k = 0; k < suspects.count; k++) {
        const word *s = &suspects.at[k];
        const bool data = same && has_word(same, (bytes - sizeof(witness)) / sizeof *same, s);
        kiln__text_printf(out, "%s, 0x%" PRIx64 ", is in the guest's memory at 0x%" PRIx64 " + %" PRIu64 "\n",
                          data ? "guest data that is the same in another process" : "a host address", s->value,
                          s->place, s->offset);
        left += !data;
    }
    free(suspects.at);
    free(answer);
    return left > 0;
}

/* ---- planted words ---- */

/* Guest data that looked like an address: the address sanitizer's heap lies there. */
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
    enum { OFFSET = 256 };
    const unsigned char stack = 0;
    const struct {
        const char *name;
        uint64_t value;
    } kinds[] = {{"code", (uintptr_t)&hostile_plant}, {"library", (uintptr_t)&fopen},
                 {"stack", (uintptr_t)&stack},        {"heap", (uintptr_t)w->device},
                 {"table", (uintptr_t)w->sets},       {"memory", (uintptr_t)w->device->live[0]->host},
                 {"bytes", 0x6f6f6f6f6f6f},           {"pair", 0x630e0000630e}};
    for (unsigned k = 0; k < KILN__COUNT(kinds); k++) {
        unsigned char *at = vm_pointer(w->device, w->targets[3], OFFSET + 8);
        const bool data = kinds[k].value == 0x6f6f6f6f6f6f || kinds[k].value == 0x630e0000630e;
        const uint64_t value = data ? mapped_data(kinds[k].value) : kinds[k].value;
        if (strcmp(name, kinds[k].name) != 0 || !at || !value)
            continue;
        memcpy(at + OFFSET, &value, 8);
        return true;
    }
    return false;
}
