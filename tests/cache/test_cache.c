/* Tests the cache: hits and misses, the checks of entries, garbage collection, and eight processes at the same time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_internal.h"
#include "check.h"

static char folder[64], program[4096];

static void fresh(void)
{
    strcpy(folder, "/tmp/kiln-cache-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
}

static void clean(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
}

typedef struct notes {
    int warnings;
    char last[512];
} notes;

static void note(void *user, kiln_log_level level, const char *message)
{
    notes *all = user;
    all->warnings += level == KILN_LOG_WARNING;
    snprintf(all->last, sizeof all->last, "%s", message);
}

static kiln__cache *open_at(const char *path, notes *all)
{
    kiln__log log = {note, all};
    kiln__cache *cache = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__cache_open(NULL, path, all ? &log : NULL, &cache, &error), error);
    return cache;
}

/* The contents of entry number n. All of them follow from n. */
typedef struct sample {
    char material[256], ptx[4096], cubin[8192];
    kiln__cache_key key;
    kiln__unit unit;
} sample;

static void make(sample *s, unsigned n)
{
    memset(s, 0, sizeof *s);
    int length = snprintf(s->material, sizeof s->material, "key %u%cthe source %u", n, 0, n);
    size_t ptx = 100 + n * 37 % 3000, cubin = n * 101 % 8000;
    for (size_t i = 0; i < ptx; i++)
        s->ptx[i] = (char)('a' + (i * 7 + n) % 26);
    for (size_t i = 0; i < cubin; i++)
        s->cubin[i] = (char)(i * 13 + n);
    size_t text_at = strlen(s->material) + 1;
    s->key = (kiln__cache_key){.material = s->material,
                               .length = (size_t)length,
                               .source = "matmul.cu",
                               .arch = "sm_90",
                               .compiler = "nvrtc 13.0",
                               .options = "-DX -w",
                               .text_at = text_at,
                               .text_length = (size_t)length - text_at};
    s->unit = (kiln__unit){.ptx = s->ptx,
                           .ptx_length = ptx,
                           .cubin = cubin ? s->cubin : NULL,
                           .cubin_length = cubin,
                           .lowered = "k\0_Z1k",
                           .lowered_length = 7};
}

static bool same(const kiln__unit *a, const kiln__unit *b)
{
    return a->ptx_length == b->ptx_length && memcmp(a->ptx, b->ptx, a->ptx_length) == 0 &&
           a->cubin_length == b->cubin_length &&
           (!a->cubin_length || memcmp(a->cubin, b->cubin, a->cubin_length) == 0) &&
           a->lowered_length == b->lowered_length && memcmp(a->lowered, b->lowered, a->lowered_length) == 0;
}

static bool found(kiln__cache *cache, unsigned n)
{
    sample s;
    make(&s, n);
    kiln__unit got = {0};
    if (!kiln__cache_get(cache, &s.key, &got))
        return false;
    CHECK(same(&got, &s.unit));
    CHECK(got.ptx[got.ptx_length] == '\0');
    CHECK((uintptr_t)got.cubin % 8 == 0);
    kiln__unit_free(&got);
    return true;
}

static void put(kiln__cache *cache, unsigned n)
{
    sample s;
    make(&s, n);
    kiln__cache_put(cache, &s.key, &s.unit);
}

static void path_of(unsigned n, char *path, size_t room)
{
    sample s;
    make(&s, n);
    char id[KILN__CACHE_ID + 1];
    kiln__cache_id(&s.key, id);
    snprintf(path, room, "%s/v1/%s", folder, id);
}

static void test_hits(void)
{
    fresh();
    notes all = {0};
    kiln__cache *cache = open_at(folder, &all);
    CHECK_TEXT(kiln__cache_folder(cache), folder);
    CHECK(!found(cache, 0));
    for (unsigned n = 0; n < 20; n++)
        put(cache, n);
    for (unsigned n = 0; n < 20; n++)
        CHECK(found(cache, n));
    CHECK(!found(cache, 20));
    put(cache, 3); /* replaces the first entry */
    CHECK(found(cache, 3));
    uint64_t hits, misses;
    kiln__cache_counts(cache, &hits, &misses);
    CHECK(hits == 21 && misses == 2);
    char path[128];
    struct stat info;
    path_of(3, path, sizeof path);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    snprintf(path, sizeof path, "%s/v1", folder);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0700);
    kiln__cache_close(cache);
    cache = open_at(folder, &all); /* another process would see the same entries */
    CHECK(found(cache, 7));
    kiln__cache_close(cache);
    CHECK(all.warnings == 0);
    clean();
}

/* Tests that every truncation of an entry, every changed byte and every changed bit of its header gives a miss. */
static void test_damage(void)
{
    fresh();
    kiln__cache *cache = open_at(folder, NULL);
    sample s;
    make(&s, 5);
    s.unit.ptx_length = 300;
    size_t length = 0;
    char *good = kiln__cache_entry_make(NULL, &s.key, &s.unit, &length);
    CHECK(good != NULL);
    kiln__cache_key key;
    kiln__unit unit;
    CHECK(kiln__cache_entry_parse(good, length, &key, &unit));
    CHECK_TEXT(key.source, "matmul.cu");
    CHECK_TEXT(key.options, "-DX -w");
    CHECK(key.length == s.key.length && memcmp(key.material, s.key.material, key.length) == 0);
    char path[128];
    path_of(5, path, sizeof path);
    for (size_t n = 0; n < 2 * length + 1; n++) {
        size_t size = n < length ? n : length;
        char *bytes = malloc(size + 1);
        memcpy(bytes, good, size);
        if (n == 2 * length)
            bytes[size++] = 0; /* one byte more than the entry has */
        else if (n >= length)
            bytes[n - length] = (char)(bytes[n - length] ^ (1 << n % 8));
        char *exact = malloc(size ? size : 1);
        memcpy(exact, bytes, size);
        CHECK(!kiln__cache_entry_parse(exact, size, &key, &unit));
        if (n % 16 == 0 || n == 2 * length) { /* also tests the file system: a miss removes the file */
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
            close(fd);
            CHECK(!found(cache, 5));
            CHECK(access(path, F_OK) != 0);
        }
        free(bytes);
        free(exact);
    }
    /* a good entry under the name of another key: its key material differs */
    put(cache, 6);
    char other[128];
    path_of(6, other, sizeof other);
    CHECK(rename(other, path) == 0);
    CHECK(!found(cache, 5));
    free(good);
    kiln__cache_close(cache);
    clean();
}

static void test_trust(void)
{
    fresh();
    notes all = {0};
    kiln__cache *cache = open_at(folder, &all);
    char path[128], target[128];
    put(cache, 1);
    path_of(1, path, sizeof path);
    CHECK(chmod(path, 0620) == 0);
    CHECK(!found(cache, 1));
    CHECK(chmod(path, 0602) == 0);
    CHECK(!found(cache, 1));
    CHECK(chmod(path, 0644) == 0);
    CHECK(found(cache, 1));
    snprintf(target, sizeof target, "%s/v1/elsewhere", folder);
    CHECK(rename(path, target) == 0 && symlink(target, path) == 0);
    CHECK(!found(cache, 1));
    put(cache, 1); /* replaces the link, and not the target of the link */
    CHECK(found(cache, 1));
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    CHECK(!found(cache, 1)); /* a FIFO in place of the entry: the look-up must not hang */
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK(!found(cache, 1));
    if (geteuid() == 0) {
        CHECK(rmdir(path) == 0);
        put(cache, 1);
        CHECK(chown(path, 12345, (gid_t)-1) == 0);
        CHECK(!found(cache, 1));
    } else {
        printf("SKIP root: files of another user\n");
    }
    CHECK(all.warnings == 0);
    kiln__cache_close(cache);
    clean();
}

static void check_off(const char *path, const char *why)
{
    notes all = {0};
    kiln__cache *cache = open_at(path, &all);
    put(cache, 1);
    CHECK(!found(cache, 1));
    uint64_t removed = 9, kept = 9;
    CHECK(kiln__cache_gc(cache, 0, &removed, &kept, NULL) == KILN_OK && removed == 0 && kept == 0);
    CHECK(kiln__cache_list(cache, false, NULL, NULL, NULL) == KILN_OK);
    kiln__cache_close(cache);
    CHECK(all.warnings == 1);
    if (!strstr(all.last, why))
        fprintf(stderr, "%s\n", all.last);
    CHECK(strstr(all.last, why) != NULL);
}

static void test_degrading(void)
{
    fresh();
    char path[160];
    snprintf(path, sizeof path, "%s/file", folder);
    CHECK(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
    check_off(path, "Not a directory");
    snprintf(path, sizeof path, "%s/file/below", folder);
    check_off(path, "Not a directory");
    snprintf(path, sizeof path, "%s/shared", folder);
    CHECK(mkdir(path, 0700) == 0 && chmod(path, 0777) == 0);
    check_off(path, "others may write to it");
    CHECK(chmod(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/shared/v1", folder);
    CHECK(symlink("/tmp", path) == 0);
    snprintf(path, sizeof path, "%s/shared", folder);
    check_off(path, "the cache is off");
    if (geteuid() == 0) {
        snprintf(path, sizeof path, "%s/foreign", folder);
        CHECK(mkdir(path, 0700) == 0 && chown(path, 12345, (gid_t)-1) == 0);
        check_off(path, "another user");
    } else {
        snprintf(path, sizeof path, "%s/locked", folder);
        CHECK(mkdir(path, 0500) == 0);
        check_off(path, "Permission denied");
    }
    /* If the folder of an open cache disappears, there is one warning and no error. */
    notes all = {0};
    snprintf(path, sizeof path, "%s/gone", folder);
    kiln__cache *cache = open_at(path, &all);
    char inner[200];
    snprintf(inner, sizeof inner, "%s/v1", path);
    CHECK(rmdir(inner) == 0 && rmdir(path) == 0);
    put(cache, 1);
    put(cache, 2);
    CHECK(!found(cache, 1));
    CHECK(all.warnings == 1);
    kiln__cache_close(cache);
    clean();
}

/* Tests a full disk, which the limit on file sizes imitates. */
static void test_full(void)
{
    fresh();
    notes all = {0};
    kiln__cache *cache = open_at(folder, &all);
    put(cache, 1);
    struct rlimit before, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 200;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (unsigned n = 2; n < 6; n++)
        put(cache, n);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, handler);
    CHECK(all.warnings == 1);
    CHECK(strstr(all.last, "cannot write an entry") != NULL);
    CHECK(found(cache, 1));
    for (unsigned n = 2; n < 6; n++)
        CHECK(!found(cache, n));
    char path[80];
    snprintf(path, sizeof path, "%s/v1", folder);
    DIR *list = opendir(path);
    int files = 0;
    for (struct dirent *item; list && (item = readdir(list));)
        files += item->d_name[0] != '.';
    if (list)
        closedir(list);
    CHECK(files == 1); /* no part of a file is left behind */
    put(cache, 2);
    CHECK(found(cache, 2)); /* there is room again */
    CHECK(all.warnings == 1);
    kiln__cache_close(cache);
    clean();
}

typedef struct seen {
    int count, intact;
    uint64_t bytes;
    kiln_cache_entry last;
    char text[300], id[40];
} seen;

static int on_entry(void *user, const kiln_cache_entry *entry)
{
    seen *s = user;
    s->count++;
    s->intact += entry->intact;
    s->bytes += entry->bytes;
    snprintf(s->text, sizeof s->text, "%s|%s|%s|%s", entry->source, entry->arch, entry->compiler, entry->options);
    snprintf(s->id, sizeof s->id, "%s", entry->id);
    return 0;
}

static int on_show(void *user, const kiln_cache_entry *entry, const char *text, const char *ptx, size_t cubin)
{
    seen *s = user;
    on_entry(user, entry);
    snprintf(s->text, sizeof s->text, "%s|%.3s|%zu", text, ptx, cubin);
    return 0;
}

static void set_age(unsigned n, long seconds)
{
    char path[128];
    path_of(n, path, sizeof path);
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void test_managing(void)
{
    fresh();
    kiln__cache *cache = open_at(folder, NULL);
    kiln_error *error = NULL;
    for (unsigned n = 0; n < 8; n++) {
        put(cache, n);
        set_age(n, 100000 - 1000 * (long)n); /* entry 0 is the oldest */
    }
    seen s = {0};
    CHECK_OK(kiln__cache_list(cache, false, on_entry, &s, &error), error);
    CHECK(s.count == 8 && s.intact == 0);
    CHECK_TEXT(s.text, "matmul.cu|sm_90|nvrtc 13.0|-DX -w");
    s = (seen){0};
    CHECK_OK(kiln__cache_list(cache, true, on_entry, &s, &error), error);
    CHECK(s.count == 8 && s.intact == 8);
    char oldest[40];
    snprintf(oldest, sizeof oldest, "%s", s.id);

    /* shows an entry by a prefix of its key */
    s = (seen){0};
    oldest[12] = '\0';
    CHECK_OK(kiln__cache_show(cache, oldest, on_show, &s, &error), error);
    CHECK_TEXT(s.text, "the source 0|aho|0");
    CHECK(kiln__cache_show(cache, "", on_show, &s, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln__cache_show(cache, "zz", on_show, &s, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    error = NULL;

    /* a hit makes an entry young; then the oldest entries go first */
    CHECK(found(cache, 0));
    char path[160], stray[160], temp[200], young[200];
    struct stat info;
    path_of(0, path, sizeof path);
    CHECK(stat(path, &info) == 0 && time(NULL) - info.st_mtime < 100);
    snprintf(stray, sizeof stray, "%s/v1/README", folder);
    snprintf(temp, sizeof temp, "%s.tmp-1-2-3", path);
    snprintf(young, sizeof young, "%s.tmp-1-2-4", path);
    CHECK(close(open(stray, O_WRONLY | O_CREAT, 0600)) == 0 && close(open(temp, O_WRONLY | O_CREAT, 0600)) == 0 &&
          close(open(young, O_WRONLY | O_CREAT, 0600)) == 0);
    struct timespec old[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    CHECK(utimensat(AT_FDCWD, temp, old, 0) == 0);
    uint64_t removed = 0, kept = 0;
    CHECK_OK(kiln__cache_gc(cache, UINT64_MAX, &removed, &kept, &error), error);
    CHECK(removed == 0 && kept > 0 && access(temp, F_OK) != 0 && access(young, F_OK) == 0);
    uint64_t limit = kept / 2;
    CHECK_OK(kiln__cache_gc(cache, limit, &removed, &kept, &error), error);
    CHECK(removed > 0 && removed < 8 && kept <= limit);
    CHECK(found(cache, 0) && !found(cache, 1) && found(cache, 7));

    /* verify removes damaged entries, and keeps all others */
    path_of(7, path, sizeof path);
    CHECK(truncate(path, 100) == 0);
    s = (seen){0};
    CHECK_OK(kiln__cache_list(cache, true, on_entry, &s, &error), error);
    CHECK(s.count == 8 - (int)removed && s.intact == s.count - 1);
    CHECK(access(path, F_OK) != 0 && access(stray, F_OK) == 0);
    CHECK_OK(kiln__cache_gc(cache, 0, &removed, &kept, &error), error);
    CHECK(kept == 0 && access(stray, F_OK) == 0);
    kiln__cache_close(cache);
    clean();
}

/* ---- many processes ---- */

enum { KEYS = 40, PROCESSES = 8 };

/* Hammers the folder until it is killed, or standard input ends. Exits with 9 if it ever sees a wrong entry. */
static int hammer(const char *where, unsigned seed)
{
    kiln__cache *cache = NULL; /* no CHECK here: this process runs no suite */
    uint64_t hits = 0, misses = 0;
    if (kiln__cache_open(NULL, where, NULL, &cache, NULL) != KILN_OK)
        return 7;
    uint64_t random = seed;
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned n = (unsigned)(random >> 33) % KEYS, what = (unsigned)(random >> 20) % 64;
        sample s;
        make(&s, n);
        kiln__unit got = {0};
        if (what == 0)
            kiln__cache_gc(cache, (random >> 40) % 200000, NULL, NULL, NULL);
        else if (what == 1)
            kiln__cache_list(cache, true, NULL, NULL, NULL);
        else if (kiln__cache_get(cache, &s.key, &got)) {
            if (!same(&got, &s.unit))
                return 9;
            kiln__unit_free(&got);
        } else
            kiln__cache_put(cache, &s.key, &s.unit);
        kiln__cache_counts(cache, &hits, &misses);
        /* with fewer hits or misses the run proves nothing */
    } while (hits <= 10 || misses <= 10 || poll(&end, 1, 0) == 0);
    kiln__cache_close(cache);
    return 0;
}

/* Starts a process whose standard input is `go`. */
static pid_t spawn_hammer(unsigned seed, int go)
{
    pid_t child = fork();
    if (child == 0) {
        dup2(go, STDIN_FILENO);
        char number[16];
        snprintf(number, sizeof number, "%u", seed);
        execl(program, program, "hammer", folder, number, (char *)NULL);
        _exit(8);
    }
    return child;
}

static void test_processes(void)
{
    fresh();
    pid_t children[PROCESSES];
    uint64_t random = 1;
    unsigned seed = 1;
    int killed = 0, go[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(go, O_CLOEXEC), 0);
    for (int i = 0; i < PROCESSES; i++)
        children[i] = spawn_hammer(seed++, go[0]);
    for (int round = 0; round < 40; round++) {
        usleep(40000);
        random = random * 6364136223846793005u + 1442695040888963407u;
        int victim = (int)((random >> 33) % PROCESSES), status = 0;
        kill(children[victim], SIGKILL);
        CHECK(waitpid(children[victim], &status, 0) == children[victim]);
        /* otherwise the process saw a wrong entry and exited */
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        killed++;
        children[victim] = spawn_hammer(seed++, go[0]);
    }
    close(go[0]);
    close(go[1]); /* the processes that still run end now */
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    kiln__cache *cache = open_at(folder, NULL);
    seen s = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__cache_list(cache, true, on_entry, &s, &error), error);
    CHECK(s.count <= KEYS && s.intact == s.count);
    printf("%d kills, %d entries left, all intact\n", killed, s.count);
    for (unsigned n = 0; n < KEYS; n++)
        put(cache, n);
    for (unsigned n = 0; n < KEYS; n++)
        CHECK(found(cache, n));
    kiln__cache_close(cache);
    clean();
}

/* Uses the cache object from several threads. This test is mainly for the thread sanitizer. */
static void *thread_hammer(void *user)
{
    for (unsigned i = 0; i < 200; i++) {
        if (!found(user, i % 10))
            put(user, i % 10);
        if (i % 50 == 49)
            kiln__cache_gc(user, 10000, NULL, NULL, NULL);
    }
    return NULL;
}

static void test_threads(void)
{
    fresh();
    kiln__cache *cache = open_at(folder, NULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_hammer, cache) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    kiln__cache_close(cache);
    clean();
}

/* Fails the first, second, ... allocation of all functions of a cache. */
static void test_oom(void)
{
    fresh();
    sample s;
    make(&s, 1);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__cache *cache = NULL;
        kiln_error *error = NULL;
        kiln_status status = kiln__cache_open(&mem, folder, NULL, &cache, &error);
        if (status == KILN_OK) {
            kiln__unit got = {0};
            kiln__cache_put(cache, &s.key, &s.unit);
            bool hit = kiln__cache_get(cache, &s.key, &got);
            CHECK(hit || oom.failed);
            kiln__unit_free(&got);
            status = kiln__cache_list(cache, true, NULL, NULL, &error);
            if (status == KILN_OK)
                status = kiln__cache_list(cache, false, NULL, NULL, &error);
            seen shown = {0};
            char id[KILN__CACHE_ID + 1];
            kiln__cache_id(&s.key, id);
            if (status == KILN_OK)
                status = kiln__cache_show(cache, id, on_show, &shown, &error);
            if (status == KILN_OK)
                status = kiln__cache_gc(cache, 0, NULL, NULL, &error);
        }
        CHECK(status == KILN_OK || oom.failed);
        CHECK(status != KILN_OK || error == NULL);
        kiln__cache_close(cache);
        kiln_error_free(error);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    clean();
}

/* Tests that verifying without memory is an error, and removes no entry. */
static void test_verifying_without_memory(void)
{
    fresh();
    sample s;
    make(&s, 1);
    kiln__cache *plain = open_at(folder, NULL);
    kiln__cache_put(plain, &s.key, &s.unit);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__cache *cache = NULL;
        kiln_error *error = NULL;
        kiln_status status = kiln__cache_open(&mem, folder, NULL, &cache, &error);
        if (status == KILN_OK)
            status = kiln__cache_list(cache, true, NULL, NULL, &error);
        CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY));
        kiln__cache_close(cache);
        kiln_error_free(error);
        CHECK(found(plain, 1));
        if (!oom.failed)
            break;
    }
    kiln__cache_close(plain);
    clean();
}

/* This is no test. `cache_test_cache time` prints the time of a hit on a 20 KB entry. */
static int print_times(void)
{
    kiln__cache *cache = NULL; /* no CHECK here: no suite runs */
    strcpy(folder, "/tmp/kiln-cache-XXXXXX");
    if (!mkdtemp(folder) || kiln__cache_open(NULL, folder, NULL, &cache, NULL) != KILN_OK)
        return 2;
    static char material[6000], ptx[8000], cubin[6000];
    memset(material, 'm', sizeof material);
    memset(ptx, 'p', sizeof ptx - 1);
    kiln__cache_key key = {.material = material, .length = sizeof material, .source = "x.cu"};
    kiln__unit unit = {.ptx = ptx, .ptx_length = sizeof ptx - 1, .cubin = cubin, .cubin_length = sizeof cubin}, got;
    uint64_t begun = kiln__now_ns();
    kiln__cache_put(cache, &key, &unit);
    uint64_t put_ns = kiln__now_ns() - begun, hits = 0;
    begun = kiln__now_ns();
    for (int i = 0; i < 20000; i++)
        if (kiln__cache_get(cache, &key, &got)) {
            hits++;
            kiln__unit_free(&got);
        }
    printf("%llu hits, %.2f us each; put %.0f us\n", (unsigned long long)hits,
           (double)(kiln__now_ns() - begun) / 20000 / 1000, (double)put_ns / 1000);
    kiln__cache_gc(cache, 0, NULL, NULL, NULL);
    kiln__cache_close(cache);
    char inner[80];
    snprintf(inner, sizeof inner, "%s/v1", folder);
    return rmdir(inner) != 0 || rmdir(folder) != 0 || hits != 20000;
}

static const check_case cases[] = {
    {"hits", test_hits},
    {"damage", test_damage},
    {"trust", test_trust},
    {"degrading", test_degrading},
    {"a full disk", test_full},
    {"verifying without memory", test_verifying_without_memory},
    {"list, show, gc, verify", test_managing},
    {"eight processes", test_processes},
    {"threads", test_threads},
    {"out of memory", test_oom},
};

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "hammer") == 0)
        return hammer(arguments[2], (unsigned)atoi(arguments[3]));
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return 2;
    if (count == 2 && strcmp(arguments[1], "time") == 0)
        return print_times();
    return check_main(count, arguments, "cache", cases, sizeof cases / sizeof *cases);
}
