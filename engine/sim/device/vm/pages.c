/* pages.c - the host memory of large allocations. A page takes memory only after the first write to it. Before its
 * first write, a page is a private (copy-on-write) mapping of a file with the initial content. Many pages share one
 * file. */
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vm_machine.h"
#include "vm_memory.h"

uint64_t vm_file_most(void)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < INT64_MAX ? most.rlim_cur : INT64_MAX;
}

/* Maps the file repeatedly over `bytes` at `host`. A page shows the content of the file until something is written to
 * the page. */
static bool map_repeatedly(unsigned char *host, uint64_t bytes, int file, uint64_t period)
{
    for (uint64_t at = 0; at < bytes; at += period) {
        const uint64_t here = bytes - at < period ? bytes - at : period;
        if (mmap(host + at, (size_t)here, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) ==
            MAP_FAILED)
            return false;
    }
    return true;
}

/* Makes a file without a name, of `period` bytes with the content of `pattern`, or with poison if `pattern` is NULL.
 * Returns -1 on failure. The function writes all bytes instead of setting the file's length, because in a sandbox a
 * process may not change the length of a file. */
static int pattern_file(const void *pattern, uint64_t period)
{
    unsigned char poison[1 << 16];
    const int file = period <= vm_file_most() ? memfd_create("kiln-device-pattern", MFD_CLOEXEC) : -1;
    if (!pattern)
        memset(poison, VM_POISON, sizeof poison);
    for (uint64_t done = 0; file >= 0 && done < period;) {
        const uint64_t left = period - done, here = pattern || left < sizeof poison ? left : sizeof poison;
        const ssize_t wrote = write(file, pattern ? (const unsigned char *)pattern + done : poison, (size_t)here);
        if (wrote <= 0) {
            close(file);
            return -1;
        }
        done += (uint64_t)wrote;
    }
    return file;
}

void *vm_pages_reserve(int *poison, uint64_t bytes)
{
    void *host = vm_guard_map((size_t)bytes, -1, 0);
    if (!host)
        return NULL;
    if (!*poison)
        *poison = pattern_file(NULL, VM_PERIOD) + 1;
    if (*poison && map_repeatedly(host, bytes, *poison - 1, VM_PERIOD))
        return host;
    vm_guard_unmap(host, (size_t)bytes);
    return NULL;
}

bool vm_pages_zero(void *host, uint64_t bytes)
{
    return mmap(host, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
                -1, 0) != MAP_FAILED;
}

void vm_pages_free(void *host, uint64_t bytes) { vm_guard_unmap(host, (size_t)bytes); }

bool vm_pages_repeat(void *host, uint64_t bytes, const void *pattern, uint64_t period)
{
    const int file = pattern_file(pattern, period);
    const bool done = file >= 0 && map_repeatedly(host, bytes, file, period);
    if (file >= 0)
        close(file); /* the mapping keeps the file alive */
    return done;
}
