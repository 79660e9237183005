/* nfs.c - tests the cache on a network file system, which nfs_shim.c imitates.
 *
 *     cache_nfs SHIM [STARTS PROCESSES]     the test; a longer run by hand: cache_nfs SHIM 10000 64
 *
 * STARTS processes start one after the other, and PROCESSES at the same time, each with a cold start. They read entries or
 * make them, and some are killed at random moments. No entry may ever be wrong. In the end all entries must exist, also
 * if the tree was moved. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_internal.h"

enum { ENTRIES = 40, PER_START = 6, WRONG = 3 };
extern char **environ;

/* ---- entries: the content follows from the number ---- */

typedef struct sample {
    char material[64], ptx[20000];
    kiln__cache_key key;
    kiln__unit unit;
} sample;

static void make(sample *s, unsigned n)
{
    memset(s, 0, sizeof *s);
    snprintf(s->material, sizeof s->material, "the key material of entry %u", n);
    size_t length = 100 + n * 397 % 19000;
    for (size_t i = 0; i < length; i++)
        s->ptx[i] = (char)('a' + (i * 7 + n) % 23);
    s->key = (kiln__cache_key){.material = s->material,
                               .length = strlen(s->material),
                               .source = "nfs",
                               .arch = "",
                               .compiler = "",
                               .options = ""};
    s->unit = (kiln__unit){.ptx = s->ptx, .ptx_length = length};
}

static kiln__cache *open_cache(const char *folder)
{
    kiln__cache *cache = NULL;
    if (kiln__cache_open(NULL, folder, NULL, &cache, NULL) != KILN_OK)
        exit(1);
    return cache;
}

/* Looks for entry n. Returns 1 for a hit. Otherwise returns 0, after it has stored the entry if `puts` is set. Ends the
 * process if the entry is wrong. */
static unsigned use(kiln__cache *cache, unsigned n, bool puts)
{
    static sample s;
    kiln__unit got = {0};
    make(&s, n);
    if (!kiln__cache_get(cache, &s.key, &got)) {
        if (puts)
            kiln__cache_put(cache, &s.key, &s.unit);
        return 0;
    }
    if (got.ptx_length != s.unit.ptx_length || memcmp(got.ptx, s.ptx, got.ptx_length) != 0)
        exit(WRONG);
    kiln__unit_free(&got);
    return 1;
}

static unsigned count_hits(const char *folder)
{
    kiln__cache *cache = open_cache(folder);
    unsigned hits = 0;
    for (unsigned n = 0; n < ENTRIES; n++)
        hits += use(cache, n, false);
    kiln__cache_close(cache);
    return hits;
}

static int work(const char *folder, unsigned seed, bool all)
{
    kiln__cache *cache = open_cache(folder);
    for (unsigned i = 0; i < (all ? (unsigned)ENTRIES : (unsigned)PER_START); i++) {
        seed = seed * 1664525u + 1013904223u;
        use(cache, all ? i : (seed >> 8) % ENTRIES, true);
    }
    kiln__cache_close(cache);
    return 0;
}

/* ---- processes ---- */

static pid_t start(const char *shim, const char *folder, const char *what, unsigned seed, const char *how)
{
    char number[16];
    snprintf(number, sizeof number, "%u", seed);
    setenv("LD_PRELOAD", shim, 1);
    setenv("KILN_NFS", what, 1);
    setenv("KILN_NFS_SEED", number, 1);
    char *const arguments[] = {"cache_nfs", (char *)(uintptr_t)how, (char *)(uintptr_t)folder, number, NULL};
    pid_t pid = 0;
    int failed = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ);
    unsetenv("LD_PRELOAD");
    unsetenv("KILN_NFS");
    if (failed) {
        fprintf(stderr, "cache_nfs: %s\n", strerror(failed));
        exit(1);
    }
    return pid;
}

static bool ended_well(int how, bool killed)
{
    if ((WIFEXITED(how) && WEXITSTATUS(how) == 0) || (killed && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL))
        return true;
    fprintf(stderr, "cache_nfs: a process ended with %d%s\n", how,
            WIFEXITED(how) && WEXITSTATUS(how) == WRONG ? ": an entry was wrong" : "");
    return false;
}

static bool run_all(const char *shim, const char *folder, const char *what)
{
    int how = -1;
    waitpid(start(shim, folder, what, 1, "--all"), &how, 0);
    return ended_well(how, false);
}

static bool run_many(const char *shim, const char *folder, unsigned starts, unsigned most, unsigned *killed)
{
    unsigned begun = 0, running = 0, dice = 12345;
    bool good = true;
    while ((begun < starts && good) || running > 0) {
        if (begun < starts && running < most && good) {
            pid_t pid = start(shim, folder, "hidden=50 stale=3 again=5 full=3 back=10 locks", begun + 1, "--some");
            begun++;
            running++;
            dice = dice * 1664525u + 1013904223u;
            if ((dice >> 8) % 8 == 0) {
                usleep((dice >> 12) % 4000);
                kill(pid, SIGKILL); /* the process was not waited for, so the id is still its own */
                (*killed)++;
            }
            continue;
        }
        int how = -1;
        if (wait(&how) > 0)
            running--;
        good = ended_well(how, true) && good;
    }
    return good;
}

/* ---- the test ---- */

static bool check(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "cache_nfs: does not hold: %s\n", what);
    return holds;
}

static bool is_empty(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "test -z \"$(ls '%s/v1')\"", folder);
    return system(command) == 0;
}

/* Runs many processes on one cache folder under a library that imitates a network file system, kills some of them, and
 * checks every entry. `--some` and `--all` are the processes that it starts. */
int main(int count, char **arguments)
{
    if (count == 4 && (strcmp(arguments[1], "--some") == 0 || strcmp(arguments[1], "--all") == 0))
        return work(arguments[2], (unsigned)atoi(arguments[3]), arguments[1][2] == 'a');
    if (count != 2 && count != 4)
        return 2;
    const char *shim = arguments[1];
    unsigned starts = count == 4 ? (unsigned)atoi(arguments[2]) : 300,
             most = count == 4 ? (unsigned)atoi(arguments[3]) : 8;
    unsigned killed = 0;
    char base[] = "/tmp/kiln-nfs-XXXXXX", folder[64], moved[64], command[128];
    if (!mkdtemp(base))
        return 1;
    snprintf(folder, sizeof folder, "%s/a", base);
    snprintf(moved, sizeof moved, "%s/b", base);
    bool good = run_all(shim, folder, "full") &&
                check(is_empty(folder), "nothing is left of what could not be written");
    good = good && run_all(shim, folder, "again=50") &&
           check(count_hits(folder) == ENTRIES, "all were put, each rename once");
    good = good && run_all(shim, folder, "stale") &&
           check(count_hits(folder) == ENTRIES, "a read error removes nothing");
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    good = good && system(command) == 0 && run_many(shim, folder, starts, most, &killed);
    good = good && work(folder, 1, true) == 0 && check(rename(folder, moved) == 0, "the tree moves");
    good = good && check(count_hits(moved) == ENTRIES, "all are there after the tree was moved");
    snprintf(command, sizeof command, "rm -r '%s'", base);
    if (system(command) != 0 || !good)
        return 1;
    printf("%u cold starts, %u at once, %u killed: no failure, no wrong byte, %d of %d entries after the move\n",
           starts, most, killed, ENTRIES, ENTRIES);
    return 0;
}
