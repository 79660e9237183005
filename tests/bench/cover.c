/* cover.c - records which blocks of gcc's code a process runs, for cover.py. It is linked in place of no_edges.c where KILN_COVER
 * is ON (tools/fuzzing.cmake).
 *
 * With -fsanitize-coverage=trace-pc gcc calls the function __sanitizer_cov_trace_pc in each block. A block is recorded when it
 * runs for the first time, and again when it runs for the first time after a second thread ran any block.
 *
 * Each copy of this file, in a program or a shared library, writes one file to the folder that the variable KILN_COVER names.
 * The first 4096 bytes have the path of the program or library. 64-bit words follow. The first word is the number of
 * the words that follow. Each further word is the offset of a block, with the bit SEVERAL. The words are in a shared
 * mapping, because signals end many processes of the tests. A forked process continues the file of its parent. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 4096, WORDS = 1 << 18 };
static const uint64_t SEVERAL = UINT64_C(1) << 63;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uintptr_t base, begin, end; /* the load address of this module, and the bounds of its segment with the code */
static uint8_t *seen;              /* for each byte of the code: bit 0: recorded; bit 1: recorded with SEVERAL */
static uint64_t *words;
static pthread_t first;
static bool several;

void __sanitizer_cov_trace_pc(void);

static int find_module(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    const uintptr_t here = (uintptr_t)find_module;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || here < begin || here >= end)
            continue;
        base = info->dlpi_addr;
        snprintf(name, HEAD, "%s", info->dlpi_name);
        return 1;
    }
    return 0;
}

static void open_file(void)
{
    const char *folder = getenv("KILN_COVER");
    char path[HEAD], name[HEAD] = "";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    first = pthread_self();
    if (!folder || !dl_iterate_phdr(find_module, name))
        return;
    if (!*name && readlink("/proc/self/exe", name, sizeof name - 1) < 0)
        return;
    snprintf(path, sizeof path, "%s/%d-%ld-%zx", folder, (int)getpid(), now.tv_nsec, (size_t)begin);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    void *map = MAP_FAILED, *bytes = MAP_FAILED;
    if (ftruncate(file, HEAD + WORDS * sizeof *words) == 0)
        map = mmap(0, HEAD + WORDS * sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED)
        bytes = mmap(0, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return;
    strcpy(map, name);
    seen = bytes;
    words = (uint64_t *)((char *)map + HEAD);
}

void __sanitizer_cov_trace_pc(void)
{
    const uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    pthread_once(&once, open_file);
    if (!words || pc < begin || pc >= end)
        return;
    if (!several && pthread_self() != first)
        several = true;
    const uint8_t now = several ? 3 : 1;
    if ((seen[pc - begin] & now) == now)
        return;
    seen[pc - begin] |= now;
    const uint64_t place = __atomic_add_fetch(words, 1, __ATOMIC_RELAXED);
    if (place < WORDS)
        words[place] = (uint64_t)(pc - base) | (several ? SEVERAL : 0);
}
