/* shim.c - a shared object for LD_PRELOAD that counts the fallible calls of kiln's programs, or fails one of them.
 *
 * A call is identified by its kind, the role of its process (the command, a compile worker, a runner) and the return
 * addresses of its innermost frames, relative to their modules. These together are its site. The counts by site are the same
 * in every run, in any order of threads and processes. The number of a call in the whole run would differ from run to
 * run.
 *
 *   INJECT_TABLE  a file of sizeof(struct table) zero bytes. All processes map it, and write the sites into it.
 *   INJECT_FAIL   "SITE N ERROR KIND", with SITE in hexadecimal: the N-th call at the site, counted over all processes,
 *                 fails with ERROR. If it is not set, nothing fails.
 *   INJECT_DEPTH  the number of frames that make a site; 4 if unset.
 *
 * The table is mapped, not written, because a compile worker may not write files. run.py reads it. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SITES = 16384, FRAMES = 8, DEEPEST = 32, MODULES = 64, NAME = 128, KIND = 40, FUNCTIONS = 128 };

struct site {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t calls;
    char kind[KIND];
    uint32_t role;
    _Atomic uint32_t ready; /* 1 if all fields of the site are written; a killed process leaves 0 */
    uint64_t offsets[FRAMES];
    char modules[FRAMES][24];
};

struct table {
    // `fired`: the call was made to fail; `lost`: the number of sites for which there was no room
    _Atomic uint64_t fired, lost;
    _Atomic uint64_t left, left_at; /* blocks that kiln's own code had not freed at its end, and the site that made
                                       one of them */
    struct site sites[SITES];
};

static struct table *table;
static uint64_t target, target_call;
static int target_error;
static char target_kind[KIND];
static unsigned depth = 4;
static uint32_t role;
static char self[NAME];
static __thread bool busy __attribute__((tls_model("initial-exec")));

/* ---- the real functions ---- */

typedef void *dlsym_fn(void *handle, const char *name);

static void *next(const char *name)
{
    static dlsym_fn *find;
    if (!find) {
        static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
        for (size_t i = 0; i < 3 && !find; i++)
            *(void **)&find = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    bool before = busy;
    busy = true;
    void *found = find(RTLD_NEXT, name);
    busy = before;
    return found;
}

#define REAL(name)                                                                                                     \
    static __typeof__(&name) real;                                                                                     \
    if (!real)                                                                                                         \
    *(void **)&real = next(#name)

/* ---- sites ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct frame {
    const char *module;
    uint64_t offset;
};

/* Finds the frames outside this shim, innermost first. Returns 0 if the call does not belong to kiln, but to the
 * start of a library or to NVRTC. */
static size_t look(struct frame *frames)
{
    void *addresses[DEEPEST];
    int count = backtrace(addresses, DEEPEST);
    size_t used = 0;
    bool ours = false;
    for (int i = 1; i < count; i++) {
        struct dl_find_object found;
        if (_dl_find_object(addresses[i], &found) != 0 || !found.dlfo_link_map)
            break;
        const struct link_map *map = found.dlfo_link_map;
        const char *module = map->l_name && *map->l_name ? base_name(map->l_name) : self;
        if (strncmp(module, "inject_shim", 11) == 0)
            continue;
        if (strncmp(module, "libnvrtc", 8) == 0)
            return 0;
        ours = ours || module == self || strncmp(module, "libcuda", 7) == 0;
        if (used < FRAMES && used < depth)
            frames[used++] = (struct frame){module, (uint64_t)(uintptr_t)addresses[i] - map->l_addr};
    }
    return ours ? used : 0;
}

static struct site *find_site(uint64_t key, const char *kind, const struct frame *frames, size_t count)
{
    for (uint64_t i = 0; i < SITES; i++) {
        struct site *site = &table->sites[(key + i) % SITES];
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&site->key, &there, key)) {
            snprintf(site->kind, sizeof site->kind, "%s", kind);
            site->role = role;
            for (size_t k = 0; k < count; k++) {
                site->offsets[k] = frames[k].offset;
                snprintf(site->modules[k], sizeof site->modules[k], "%s", frames[k].module);
            }
            atomic_store(&site->ready, 1);
            return site;
        }
        if (there == key)
            return site;
    }
    atomic_fetch_add(&table->lost, 1);
    return NULL;
}

/* Returns true for calls by NVRTC, and for calls by which a library uses functions that matter only in kiln's own code.
 * The address of the caller decides, before any frames are searched. */
static bool is_foreign(const char *kind, const void *caller)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)caller, &found) != 0 || !found.dlfo_link_map)
        return true;
    const char *path = found.dlfo_link_map->l_name;
    if (!path || !*path)
        return false;
    const char *name = base_name(path);
    if (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld.so", 5) == 0)
        return true; /* the loader ends the process if it finds no memory for a thread's variables */
    bool direct = strncmp(kind, "sqlite3_", 8) == 0 || strncmp(kind, "pthread_", 8) == 0 || strcmp(kind, "dlsym") == 0;
    return strncmp(name, "libnvrtc", 8) == 0 || (direct && strncmp(name, "libcuda", 7) != 0);
}

/* Returns the error with which this call fails, or 0. */
static int inject(const char *kind, const void *caller)
{
    if (!table || busy || (target && (strcmp(kind, target_kind) != 0 || atomic_load(&table->fired))) ||
        is_foreign(kind, caller))
        return 0;
    busy = true;
    int kept = errno, result = 0;
    struct frame frames[FRAMES];
    size_t count = look(frames);
    if (count > 0) {
        uint64_t key = mix(mix_text(1469598103934665603u, kind), role);
        for (size_t i = 0; i < count; i++)
            key = mix(mix_text(key, frames[i].module), frames[i].offset);
        key = key ? key : 1;
        if (!target || key == target) {
            struct site *site = find_site(key, kind, frames, count);
            uint64_t call = site ? atomic_fetch_add(&site->calls, 1) + 1 : 0;
            if (target && call == target_call) {
                atomic_store(&table->fired, 1);
                result = target_error;
            }
        }
    }
    errno = kept;
    busy = false;
    return result;
}

__attribute__((constructor)) static void start(int count, char **arguments)
{
    const char *path = getenv("INJECT_TABLE"), *fail = getenv("INJECT_FAIL"), *frames = getenv("INJECT_DEPTH");
    if (!path || count < 1)
        return;
    snprintf(self, sizeof self, "%s", base_name(arguments[0]));
    if (strcmp(self, "kiln-worker") == 0) {
        role = 1;
        for (int i = 1; i < count; i++)
            if (strcmp(arguments[i], "--run") == 0)
                role = 2;
    } else if (strcmp(self, "kiln") != 0) {
        return;
    }
    if (frames)
        depth = (unsigned)strtoul(frames, NULL, 10);
    if (fail) {
        char *end;
        target = strtoull(fail, &end, 16);
        target_call = strtoull(end, &end, 10);
        target_error = (int)strtol(end, &end, 10);
        snprintf(target_kind, sizeof target_kind, "%s", end + (*end == ' '));
    }
    busy = true;
    void *addresses[4];
    backtrace(addresses, 4); /* the first call of backtrace() loads its library */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = fd >= 0 ? mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    busy = false;
    if (mapped != MAP_FAILED)
        table = mapped;
}

/* ---- functions that return something and set errno ---- */

#define WRAP(type, name, parameters, arguments, failed)                                                                \
    EXPORT type name parameters                                                                                        \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        int error = inject(#name, __builtin_return_address(0));                                                        \
        if (error) {                                                                                                   \
            errno = error;                                                                                             \
            return failed;                                                                                             \
        }                                                                                                              \
        return real arguments;                                                                                         \
    }

/* Marks a stream as failed (_IO_ERR_SEEN of glibc), as a call that fails does. */
static void fail_stream(FILE *file)
{
    if (file)
        file->_flags |= 0x20;
}

#define WRAP_STREAM(type, name, parameters, arguments, failed)                                                         \
    EXPORT type name parameters                                                                                        \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        int error = inject(#name, __builtin_return_address(0));                                                        \
        if (error) {                                                                                                   \
            fail_stream(file);                                                                                         \
            errno = error;                                                                                             \
            return failed;                                                                                             \
        }                                                                                                              \
        return real arguments;                                                                                         \
    }

/* Like the macro above, for functions whose result is the error. */
#define WRAP_NUMBER(name, parameters, arguments)                                                                       \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        int error = inject(#name, __builtin_return_address(0));                                                        \
        return error ? error : real arguments;                                                                         \
    }

/* Functions whose last argument exists only with some flags. */
#define WRAP_OPEN(name, first, ...)                                                                                    \
    EXPORT int name first                                                                                              \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        int error = inject(#name, __builtin_return_address(0));                                                        \
        if (error) {                                                                                                   \
            errno = error;                                                                                             \
            return -1;                                                                                                 \
        }                                                                                                              \
        return real(__VA_ARGS__, mode);                                                                                \
    }

/* Variants of functions that headers declare only with some macros. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
ssize_t __read_chk(int fd, void *to, size_t count, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t count, off64_t offset, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t count, size_t room, int flags);
char *__realpath_chk(const char *path, char *to, size_t room);

WRAP_OPEN(open, (const char *path, int flags, ...), path, flags)
WRAP_OPEN(open64, (const char *path, int flags, ...), path, flags)
WRAP_OPEN(openat, (int folder, const char *path, int flags, ...), folder, path, flags)
WRAP_OPEN(openat64, (int folder, const char *path, int flags, ...), folder, path, flags)
WRAP(int, __open_2, (const char *path, int flags), (path, flags), -1)
WRAP(int, __open64_2, (const char *path, int flags), (path, flags), -1)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *length), (text, length), NULL)
WRAP_STREAM(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *file), (from, size, count, file), 0)
WRAP_STREAM(int, fputs, (const char *text, FILE *file), (text, file), EOF)
WRAP_STREAM(int, fflush, (FILE * file), (file), EOF)
WRAP_STREAM(size_t, fread, (void *to, size_t size, size_t count, FILE *file), (to, size, count, file), 0)
WRAP(ssize_t, read, (int fd, void *to, size_t count), (fd, to, count), -1)
WRAP(ssize_t, __read_chk, (int fd, void *to, size_t count, size_t room), (fd, to, count, room), -1)
WRAP(ssize_t, pread, (int fd, void *to, size_t count, off_t offset), (fd, to, count, offset), -1)
WRAP(ssize_t, pread64, (int fd, void *to, size_t count, off64_t offset), (fd, to, count, offset), -1)
WRAP(ssize_t, __pread64_chk, (int fd, void *to, size_t count, off64_t offset, size_t room),
     (fd, to, count, offset, room), -1)
WRAP(ssize_t, write, (int fd, const void *from, size_t count), (fd, from, count), -1)
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t count, off_t offset), (fd, from, count, offset), -1)
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t count, off64_t offset), (fd, from, count, offset), -1)
WRAP(ssize_t, send, (int fd, const void *from, size_t count, int flags), (fd, from, count, flags), -1)
WRAP(ssize_t, recv, (int fd, void *to, size_t count, int flags), (fd, to, count, flags), -1)
WRAP(ssize_t, __recv_chk, (int fd, void *to, size_t count, size_t room, int flags), (fd, to, count, room, flags), -1)
WRAP(int, fsync, (int fd), (fd), -1)
WRAP(int, fdatasync, (int fd), (fd), -1)
WRAP(int, ftruncate, (int fd, off_t length), (fd, length), -1)
WRAP(int, ftruncate64, (int fd, off64_t length), (fd, length), -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), -1)
WRAP(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1)
WRAP(int, unlink, (const char *path), (path), -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), -1)
WRAP(int, access, (const char *path, int mode), (path, mode), -1)
WRAP(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), -1)
WRAP(int, stat, (const char *path, struct stat *info), (path, info), -1)
WRAP(int, stat64, (const char *path, struct stat64 *info), (path, info), -1)
WRAP(int, lstat, (const char *path, struct stat *info), (path, info), -1)
WRAP(int, lstat64, (const char *path, struct stat64 *info), (path, info), -1)
WRAP(int, fstat, (int fd, struct stat *info), (fd, info), -1)
WRAP(int, fstat64, (int fd, struct stat64 *info), (fd, info), -1)
WRAP(int, fstatat, (int folder, const char *path, struct stat *info, int flags), (folder, path, info, flags), -1)
WRAP(int, futimens, (int fd, const struct timespec times[2]), (fd, times), -1)
WRAP(char *, realpath, (const char *path, char *to), (path, to), NULL)
WRAP(char *, __realpath_chk, (const char *path, char *to, size_t room), (path, to, room), NULL)
WRAP(char *, getcwd, (char *to, size_t room), (to, room), NULL)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL)
WRAP(struct dirent *, readdir, (DIR * folder), (folder), NULL)
WRAP(int, flock, (int fd, int how), (fd, how), -1)
WRAP(int, dup, (int fd), (fd), -1)
WRAP(int, pipe, (int fds[2]), (fds), -1)
WRAP(int, pipe2, (int fds[2], int flags), (fds, flags), -1)
WRAP(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds), -1)
WRAP(int, eventfd, (unsigned value, int flags), (value, flags), -1)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAP(int, poll, (struct pollfd * fds, nfds_t count, int limit), (fds, count, limit), -1)
WRAP(pid_t, waitpid, (pid_t pid, int *how, int flags), (pid, how, flags), -1)
WRAP(void *, mmap, (void *at, size_t size, int rights, int flags, int fd, off_t offset),
     (at, size, rights, flags, fd, offset), MAP_FAILED)
WRAP(void *, mmap64, (void *at, size_t size, int rights, int flags, int fd, off64_t offset),
     (at, size, rights, flags, fd, offset), MAP_FAILED)
WRAP_NUMBER(posix_spawn,
            (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *how,
             char *const arguments[], char *const environment[]),
            (pid, path, actions, how, arguments, environment))
WRAP_NUMBER(posix_spawn_file_actions_init, (posix_spawn_file_actions_t * actions), (actions))
WRAP_NUMBER(posix_spawn_file_actions_addopen,
            (posix_spawn_file_actions_t * actions, int fd, const char *path, int flags, mode_t mode),
            (actions, fd, path, flags, mode))
WRAP_NUMBER(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * actions, int from, int to),
            (actions, from, to))
WRAP_NUMBER(pthread_create, (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *user),
            (thread, how, run, user))
WRAP_NUMBER(pthread_mutex_init, (pthread_mutex_t * lock, const pthread_mutexattr_t *how), (lock, how))
WRAP_NUMBER(pthread_cond_init, (pthread_cond_t * cond, const pthread_condattr_t *how), (cond, how))
WRAP_NUMBER(pthread_rwlock_init, (pthread_rwlock_t * lock, const pthread_rwlockattr_t *how), (lock, how))
WRAP_NUMBER(posix_memalign, (void **to, size_t alignment, size_t size), (to, alignment, size))
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)

/* Closes the descriptor even if the call fails, as Linux does. */
EXPORT int close(int fd)
{
    REAL(close);
    int error = inject("close", __builtin_return_address(0)), result = real(fd);
    if (!error)
        return result;
    errno = error;
    return -1;
}

EXPORT int fclose(FILE *file)
{
    REAL(fclose);
    int error = inject("fclose", __builtin_return_address(0)), result = real(file);
    if (!error)
        return result;
    errno = error;
    return EOF;
}

EXPORT int fcntl(int fd, int command, ...)
{
    REAL(fcntl);
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int error = inject("fcntl", __builtin_return_address(0));
    if (!error)
        return real(fd, command, argument);
    errno = error;
    return -1;
}

EXPORT int fcntl64(int fd, int command, ...)
{
    REAL(fcntl64);
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int error = inject("fcntl", __builtin_return_address(0));
    if (!error)
        return real(fd, command, argument);
    errno = error;
    return -1;
}

/* Blocks that kiln's own code allocates. Libraries keep some blocks until the end, and are not counted. */
enum { BLOCKS = 1 << 18 };
static struct {
    void *pointer;
    uint64_t maker;
} blocks[BLOCKS];
static size_t block_count;
static atomic_flag blocks_lock = ATOMIC_FLAG_INIT;

static size_t block_at(const void *pointer)
{
    size_t at = (size_t)mix(0, (uint64_t)(uintptr_t)pointer) % BLOCKS;
    while (blocks[at].pointer && blocks[at].pointer != pointer)
        at = (at + 1) % BLOCKS;
    return at;
}

static void note_block(void *pointer, const void *caller)
{
    struct dl_find_object found;
    if (!table || role != 0 || !pointer || _dl_find_object((void *)(uintptr_t)caller, &found) != 0 ||
        !found.dlfo_link_map || *found.dlfo_link_map->l_name)
        return;
    while (atomic_flag_test_and_set(&blocks_lock))
        continue;
    if (block_count < BLOCKS / 2) {
        size_t at = block_at(pointer);
        blocks[at].pointer = pointer;
        blocks[at].maker = (uint64_t)(uintptr_t)caller - found.dlfo_link_map->l_addr;
        block_count++;
    }
    atomic_flag_clear(&blocks_lock);
}

static void forget_block(void *pointer)
{
    if (!table || role != 0 || !pointer)
        return;
    while (atomic_flag_test_and_set(&blocks_lock))
        continue;
    size_t hole = block_at(pointer);
    if (blocks[hole].pointer) {
        block_count--;
        blocks[hole].pointer = NULL;
        for (size_t at = (hole + 1) % BLOCKS; blocks[at].pointer; at = (at + 1) % BLOCKS) {
            void *moved = blocks[at].pointer;
            uint64_t maker = blocks[at].maker;
            blocks[at].pointer = NULL;
            size_t to = block_at(moved);
            blocks[to].pointer = moved;
            blocks[to].maker = maker;
        }
    }
    atomic_flag_clear(&blocks_lock);
}

__attribute__((destructor)) static void end(void)
{
    if (!table || role != 0)
        return;
    atomic_store(&table->left, block_count);
    for (size_t i = 0; i < BLOCKS; i++)
        if (blocks[i].pointer) {
            atomic_store(&table->left_at, blocks[i].maker);
            break;
        }
}

/* glibc's own names of these functions need no search by dlsym(), which itself allocates. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *pointer);

EXPORT void *malloc(size_t size)
{
    int error = inject("malloc", __builtin_return_address(0));
    void *made = error ? NULL : __libc_malloc(size);
    if (error)
        errno = error;
    note_block(made, __builtin_return_address(0));
    return made;
}

EXPORT void *calloc(size_t count, size_t size)
{
    int error = inject("calloc", __builtin_return_address(0));
    void *made = error ? NULL : __libc_calloc(count, size);
    if (error)
        errno = error;
    note_block(made, __builtin_return_address(0));
    return made;
}

EXPORT void *realloc(void *old, size_t size)
{
    int error = inject("realloc", __builtin_return_address(0));
    if (error) {
        errno = error;
        return NULL;
    }
    forget_block(old); /* the block is forgotten first, because another thread can get a block at the same address */
    void *made = __libc_realloc(old, size);
    note_block(made ? made : size ? old : NULL, __builtin_return_address(0));
    return made;
}

EXPORT void free(void *pointer)
{
    forget_block(pointer);
    __libc_free(pointer);
}

/* ---- SQLite: an error is a result code ---- */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int length, sqlite3_stmt **made, const char **tail);
int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int length, unsigned flags, sqlite3_stmt **made,
                       const char **tail);
int sqlite3_step(sqlite3_stmt *statement);
int sqlite3_exec(sqlite3 *db, const char *sql, int (*each)(void *, int, char **, char **), void *user, char **why);
int sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int length, void (*release)(void *));
int sqlite3_bind_int64(sqlite3_stmt *statement, int index, long long value);
int sqlite3_bind_blob64(sqlite3_stmt *statement, int index, const void *data, unsigned long long length,
                        void (*release)(void *));

WRAP_NUMBER(sqlite3_open_v2, (const char *path, sqlite3 **db, int flags, const char *vfs), (path, db, flags, vfs))
WRAP_NUMBER(sqlite3_prepare_v2, (sqlite3 * db, const char *sql, int length, sqlite3_stmt **made, const char **tail),
            (db, sql, length, made, tail))
WRAP_NUMBER(sqlite3_prepare_v3,
            (sqlite3 * db, const char *sql, int length, unsigned flags, sqlite3_stmt **made, const char **tail),
            (db, sql, length, flags, made, tail))
WRAP_NUMBER(sqlite3_step, (sqlite3_stmt * statement), (statement))
WRAP_NUMBER(sqlite3_exec,
            (sqlite3 * db, const char *sql, int (*each)(void *, int, char **, char **), void *user, char **why),
            (db, sql, each, user, why))
WRAP_NUMBER(sqlite3_bind_text,
            (sqlite3_stmt * statement, int index, const char *text, int length, void (*release)(void *)),
            (statement, index, text, length, release))
WRAP_NUMBER(sqlite3_bind_int64, (sqlite3_stmt * statement, int index, long long value), (statement, index, value))
WRAP_NUMBER(sqlite3_bind_blob64,
            (sqlite3_stmt * statement, int index, const void *data, unsigned long long length, void (*release)(void *)),
            (statement, index, data, length, release))

/* ---- functions of CUDA's driver and of NVRTC, as dlsym returns them ---- */

/* Twelve words are enough to call any of these functions on the ABIs of these tests: no function has more arguments,
 * or a floating-point argument. */
typedef uintptr_t word;
typedef word library_fn(word, word, word, word, word, word, word, word, word, word, word, word);

static struct {
    char name[KIND];
    library_fn *real;
} functions[FUNCTIONS];
static atomic_uint function_count;

static word call(unsigned i, word a, word b, word c, word d, word e, word f, word g, word h, word j, word k, word l,
                 word m)
{
    int error = inject(functions[i].name, __builtin_return_address(0));
    return error ? (word)error : functions[i].real(a, b, c, d, e, f, g, h, j, k, l, m);
}

#define STUB(i)                                                                                                        \
    static word stub_##i(word a, word b, word c, word d, word e, word f, word g, word h, word j, word k, word l,       \
                         word m)                                                                                       \
    {                                                                                                                  \
        return call(0##i, a, b, c, d, e, f, g, h, j, k, l, m);                                                         \
    }
#define EIGHT(X, i) X(i##0) X(i##1) X(i##2) X(i##3) X(i##4) X(i##5) X(i##6) X(i##7)
#define ALL(X)                                                                                                         \
    EIGHT(X, 0)                                                                                                        \
    EIGHT(X, 1)                                                                                                        \
    EIGHT(X, 2)                                                                                                        \
    EIGHT(X, 3)                                                                                                        \
    EIGHT(X, 4)                                                                                                        \
    EIGHT(X, 5)                                                                                                        \
    EIGHT(X, 6)                                                                                                        \
    EIGHT(X, 7)                                                                                                        \
    EIGHT(X, 10)                                                                                                       \
    EIGHT(X, 11)                                                                                                       \
    EIGHT(X, 12)                                                                                                       \
    EIGHT(X, 13)                                                                                                       \
    EIGHT(X, 14)                                                                                                       \
    EIGHT(X, 15)                                                                                                       \
    EIGHT(X, 16)                                                                                                       \
    EIGHT(X, 17)
ALL(STUB)
#define NAMED(i) stub_##i,
static library_fn *const stubs[FUNCTIONS] = {ALL(NAMED)};

static bool returns_error(const char *name)
{
    return strncmp(name, "cu", 2) == 0 || (strncmp(name, "nvrtc", 5) == 0 && strcmp(name, "nvrtcGetErrorString") != 0 &&
                                           strcmp(name, "nvrtcSetFlowCallback") != 0);
}

EXPORT void *dlsym(void *handle, const char *name)
{
    static dlsym_fn *real;
    if (!real)
        *(void **)&real = next("dlsym");
    if (inject("dlsym", __builtin_return_address(0)))
        return NULL;
    void *found = real(handle, name);
    if (!found || !table || !returns_error(name))
        return found;
    unsigned i = atomic_fetch_add(&function_count, 1);
    if (i >= FUNCTIONS)
        return found;
    snprintf(functions[i].name, sizeof functions[i].name, "%s", name);
    *(void **)&functions[i].real = found;
    library_fn *stub = stubs[i];
    memcpy(&found, &stub, sizeof found);
    return found;
}

EXPORT void *dlopen(const char *path, int flags)
{
    static __typeof__(&dlopen) real;
    if (!real)
        *(void **)&real = next("dlopen");
    return inject("dlopen", __builtin_return_address(0)) ? NULL : real(path, flags);
}
