/* base.h - functions that every room of the engine uses: memory, errors, strings, files, hashing, time. This code
 * knows nothing about the other rooms. Files share `kiln__` names, but these names are not public. */
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kiln.h"
#include "kiln_sim.h"
#include "kiln_tune.h"

#define KILN__PRINTF(f, a) __attribute__((format(printf, f, a)))
/* KILN__SANITIZED is 1 in a build with sanitizers. They reserve terabytes of address space, start threads and read
 * /proc, so limits of memory and the sandbox need exceptions. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KILN__SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KILN__SANITIZED 1
#endif
#endif
#ifndef KILN__SANITIZED
#define KILN__SANITIZED 0
#endif

#define KILN__COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- memory: every allocation goes through a kiln_allocator; NULL means malloc() ---- */

void *kiln__alloc(const kiln_allocator *mem, size_t size); /* NULL if memory runs out. Size 0 gives a valid pointer */
void *kiln__calloc(const kiln_allocator *mem, size_t count, size_t size); /* zeroed; NULL on overflow too */
void *kiln__realloc(const kiln_allocator *mem, void *pointer, size_t size);
void kiln__free(const kiln_allocator *mem, void *pointer);
char *kiln__strdup(const kiln_allocator *mem, const char *text);
/* Grows *array (elements of `size` bytes, capacity *capacity) so that it holds `need`. Returns false if
 * memory runs out. */
bool kiln__grow(const kiln_allocator *mem, void *array, size_t *capacity, size_t need, size_t size);

/* An arena: many small allocations with one lifetime. Zero-initialise it and set mem. kiln__arena_free() frees all of
 * them together. An arena is not thread-safe. After a failure `failed` stays set, so a builder may check once at the
 * end. */
typedef struct kiln__arena {
    const kiln_allocator *mem;
    struct kiln__block *blocks;
    bool failed;
} kiln__arena;
void *kiln__arena_alloc(kiln__arena *arena, size_t size); /* zeroed, aligned for any type; NULL if memory runs out */
char *kiln__arena_strndup(kiln__arena *arena, const char *text, size_t length);
char *kiln__arena_strdup(kiln__arena *arena, const char *text);
char *kiln__arena_printf(kiln__arena *arena, const char *format, ...) KILN__PRINTF(2, 3);
/* Moves all allocations of `from` to `to`, which must have the same allocator. After this call `from` is empty. */
void kiln__arena_join(kiln__arena *to, kiln__arena *from);
void kiln__arena_free(kiln__arena *arena);

/* ---- errors: the first one wins ---- */

struct kiln_error {
    const kiln_allocator *mem; /* NULL for the single static out-of-memory error */
    kiln_allocator mem_copy;
    kiln_status status;
    int cuda;
    bool passing;   /* see kiln__error_mark_passing() */
    char message[]; /* NUL-terminated */
};

/* Creates *error (if error is not NULL and *error is NULL) and returns `status`, so that a failing function ends in
 * `return kiln__fail(mem, error, KILN_ERROR_..., "...", ...)`. Falls back to a static out-of-memory error. */
kiln_status kiln__fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, const char *format, ...)
    KILN__PRINTF(4, 5);
kiln_status kiln__fail_cuda(const kiln_allocator *mem, kiln_error **error, kiln_status status, int cuda,
                            const char *format, ...) KILN__PRINTF(5, 6);
kiln_status kiln__fail_memory(kiln_error **error); /* allocates nothing */
/* each analyzer reads a single file, so it must be told that a failure is never KILN_OK */
#if defined __clang_analyzer__ || defined KILN_ANALYZER
#define kiln__fail(mem, error, status, ...) (kiln__fail(mem, error, status, __VA_ARGS__), (status))
#define kiln__fail_memory(error) (kiln__fail_memory(error), KILN_ERROR_MEMORY)
#endif
/* Marks a failure that was caused by the state of the machine and not by the work (a worker process was killed, for
 * example), so it must not be stored as a result. NULL is allowed. */
void kiln__error_mark_passing(kiln_error *error);
bool kiln__error_is_passing(const kiln_error *error); /* true for out of memory too */

/* ---- the arguments of public functions ----
 *
 * Every public function that returns a status begins with these macros. They fail with KILN_ERROR_ARGUMENT and a
 * message that names the function and the argument as kiln.h spells them ("kiln_plan_bind: buffer is NULL"), so the
 * macros' arguments must have those names. */

enum { KILN__MOST_ITEMS = 1 << 20 }; /* limit for a list that a caller passes */

#define KILN__NEEDS(mem, error, argument)                                                                              \
    do {                                                                                                               \
        if (__builtin_expect(!(argument), 0))                                                                          \
            return kiln__fail_null(mem, error, __func__, #argument);                                                   \
    } while (0)
#define KILN__NEEDS_TEXT(mem, error, argument)                                                                         \
    do {                                                                                                               \
        KILN__NEEDS(mem, error, argument);                                                                             \
        if (!*(argument))                                                                                              \
            return kiln__fail_empty(mem, error, __func__, #argument);                                                  \
    } while (0)
#define KILN__NEEDS_FLAGS(mem, error, argument, known)                                                                 \
    do {                                                                                                               \
        if ((argument) & ~(unsigned)(known))                                                                           \
            return kiln__fail_flags(mem, error, __func__, #argument, (argument) & ~(unsigned)(known));                 \
    } while (0)
#define KILN__NEEDS_ENUM(mem, error, argument, count)                                                                  \
    do {                                                                                                               \
        if ((unsigned)(argument) >= (unsigned)(count))                                                                 \
            return kiln__fail_enum(mem, error, __func__, #argument, (unsigned)(argument), (unsigned)(count));          \
    } while (0)
#define KILN__NEEDS_NUMBER(mem, error, argument) /* 0 or more, and no NaN */                                           \
    do {                                                                                                               \
        if (!((argument) >= 0))                                                                                        \
            return kiln__fail_number(mem, error, __func__, #argument, argument);                                       \
    } while (0)
/* Calls a function that returns a status, and returns that status if it is a failure. */
#define KILN__TRY(call)                                                                                                \
    do {                                                                                                               \
        kiln_status try_status_ = (call);                                                                              \
        if (try_status_ != KILN_OK)                                                                                    \
            return try_status_;                                                                                        \
    } while (0)
#define KILN__NEEDS_ARRAY(mem, error, array, count)                                                                    \
    do {                                                                                                               \
        if ((count) > KILN__MOST_ITEMS || ((count) && !(array)))                                                       \
            return kiln__fail_array(mem, error, __func__, #array, #count, count);                                      \
    } while (0)
#define KILN__NEEDS_SETTINGS(mem, error, array, count)                                                                 \
    KILN__TRY(kiln__check_settings(mem, error, __func__, #array, #count, array, count))
#define KILN__NEEDS_NAMES(mem, error, array, count)                                                                    \
    KILN__TRY(kiln__check_names(mem, error, __func__, #array, #count, array, count))
#define KILN__NEEDS_CHOICE(mem, error, choice) KILN__TRY(kiln__check_choice(mem, error, __func__, choice))

/* Copies `given` (NULL: all zero), a struct of the caller whose first member is `size_t size`, into the local struct
 * `taken`; messages call it `argument`. This is the only place that reads these sizes; kiln.h states the rule. */
#define KILN__TAKE(mem, error, argument, given, taken)                                                                 \
    KILN__TRY(kiln__take_struct(mem, error, __func__, argument, given, taken, sizeof *(taken)))

/* Checks a struct that the library fills. Its first member is `size_t size`, which the caller sets. Messages use the
 * name of `wanted`. */
#define KILN__NEEDS_SIZED(mem, error, wanted)                                                                          \
    do {                                                                                                               \
        KILN__NEEDS(mem, error, wanted);                                                                               \
        KILN__TRY(kiln__check_size(mem, error, __func__, #wanted, (wanted)->size));                                    \
    } while (0)
/* Fills the caller's struct from the whole struct `made`. Members that `made` lacks become zero. */
#define KILN__GIVE(wanted, made) kiln__give_struct(wanted, (wanted)->size, made, sizeof *(made))

kiln_status kiln__fail_null(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument);
kiln_status kiln__fail_empty(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument);
kiln_status kiln__fail_flags(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                             unsigned bits);
kiln_status kiln__fail_enum(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                            unsigned value, unsigned count);
kiln_status kiln__fail_number(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                              double value);
kiln_status kiln__fail_array(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                             const char *count_name, size_t count);
kiln_status kiln__check_settings(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                                 const char *count_name, const kiln_setting *settings, size_t count);
kiln_status kiln__check_names(const kiln_allocator *mem, kiln_error **error, const char *function, const char *array,
                              const char *count_name, const char *const *names, size_t count);
kiln_status kiln__check_choice(const kiln_allocator *mem, kiln_error **error, const char *function,
                               const kiln_choice *choice); /* NULL is allowed */
kiln_status kiln__take_struct(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                              const void *given, void *taken, size_t known);
kiln_status kiln__check_size(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                             size_t size);
void kiln__give_struct(void *wanted, size_t size, const void *made, size_t known);
/* Does the same as kiln__take_struct() for run options, and also checks their values. `argument` is "options" or
 * "options.run". */
kiln_status kiln__take_run(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                           const kiln_run_options *given, kiln_run_options *taken);
/* Does the same as kiln__take_struct() for a filter of samples. */
kiln_status kiln__take_filter(const kiln_allocator *mem, kiln_error **error, const char *function,
                              const kiln_store_filter *given, kiln_store_filter *taken);

/* ---- a growing string with a sticky error ---- */

typedef struct kiln__text {
    const kiln_allocator *mem;
    char *data; /* NUL-terminated once anything was added; NULL before */
    size_t length, capacity;
    bool failed; /* an allocation failed: the content is incomplete */
} kiln__text;
void kiln__text_add(kiln__text *text, const char *bytes, size_t length);
void kiln__text_puts(kiln__text *text, const char *string);
void kiln__text_printf(kiln__text *text, const char *format, ...) KILN__PRINTF(2, 3);
void kiln__text_vprintf(kiln__text *text, const char *format, va_list arguments);
const char *kiln__text_get(const kiln__text *text); /* "" if nothing was added */
void kiln__text_free(kiln__text *text);
/* Returns the character at *at and moves *at past it. Where the bytes are not UTF-8: returns 0xfffd and moves by one
 * byte. */
uint32_t kiln__utf8_next(const char **at);

/* ---- source positions and diagnostics: all errors of a file are reported together ---- */

/* The text of a file. Parsed objects refer to it, so it must live as long as messages may show positions in it. */
typedef struct kiln__source {
    const char *name; /* the name in messages */
    const char *text;
    size_t length;
} kiln__source;

typedef struct kiln__pos {
    const kiln__source *source; /* NULL means that this struct names no position */
    unsigned line, column;      /* both from 1; the column counts bytes */
} kiln__pos;

/* Collects errors. Each error becomes "file:line:column: message\n the line\n ^". */
typedef struct kiln__diag {
    const kiln_allocator *mem;
    kiln__text text;
    unsigned count, limit; /* a limit of 0 means 100; a last line counts the errors beyond the limit */
} kiln__diag;
void kiln__diag_add(kiln__diag *diag, kiln__pos pos, const char *format, ...) KILN__PRINTF(3, 4);
/* Returns KILN_OK if no error was added. Otherwise returns `status` and creates an error with the whole text. Frees
 * the contents of `diag`. */
kiln_status kiln__diag_finish(kiln__diag *diag, kiln_status status, kiln_error **error);
/* Creates an error with a single message at a position, and returns `status`. */
kiln_status kiln__diag_fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, kiln__pos pos,
                            const char *format, va_list arguments);

/* Returns the name that is nearest to `name` by edit distance, which ignores case. The distance may be at most a
 * third of the length of `name` (rounded down) plus 1; otherwise returns NULL. A name of one letter is near only to
 * the same letter. NULL entries of `names` are skipped. */
const char *kiln__nearest(const char *name, const char *const *names, size_t count);

/* ---- files ---- */

/* Opens a file for reading, and never waits. It refuses everything but a regular file, and the message tells the
 * kind, such as "is a folder, not a regular file". `resolved` is true if the path is the result of realpath() at the
 * time of its check. The function then refuses a path that contains a symbolic link now. */
kiln_status kiln__file_open(const kiln_allocator *mem, const char *path, bool resolved, int *fd, kiln_error **error);
/* Makes the same check without opening the file. It is for files that a library opens itself, because closing a
 * second descriptor would drop this process's locks on the file. A path where nothing exists passes. */
kiln_status kiln__file_check(const kiln_allocator *mem, const char *path, kiln_error **error);
const char *kiln__file_kind(unsigned mode); /* `mode` is st_mode. Returns text such as "a folder" */
/* Reads a whole file (at most `limit` bytes, 0: 1 GiB) into *data, followed by a NUL that *length does not count. The
 * caller frees *data. */
kiln_status kiln__file_read(const kiln_allocator *mem, const char *path, size_t limit, char **data, size_t *length,
                            kiln_error **error);
/* Reads a file as kiln__file_read() does, but refuses a path that contains a symbolic link. */
kiln_status kiln__file_read_resolved(const kiln_allocator *mem, const char *path, size_t limit, char **data,
                                     size_t *length, kiln_error **error);
/* Reads a file only if its resolved path lies in one of the folders. The folders must be resolved already. */
kiln_status kiln__file_read_below(const kiln_allocator *mem, const char *path, const char *const *folders, size_t count,
                                  size_t limit, char **data, size_t *length, kiln_error **error);

/* Kiln writes every file like this: all bytes to a temporary file in the same folder, fsync, rename to `path`. A reader
 * sees the old file or the new file, never a part of a file; after any failure the old file is unchanged. Only a
 * regular file is replaced: a device, a FIFO, a folder and a symbolic link are refused. The new file keeps the mode of
 * the old file; without an old file the mode is 0666 minus the umask. With a limit on file sizes (ulimit -f) the system
 * kills a process that exceeds it; a host that ignores SIGXFSZ gets an error message instead. */
kiln_status kiln__file_write(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                             kiln_error **error);
typedef struct kiln__output {
    const kiln_allocator *mem;
    const char *path; /* belongs to the caller, who keeps it until the output is finished or dropped */
    int fd;
    bool named, replaces; /* the temporary file has a name; an old file exists */
    kiln__text temporary;
} kiln__output;
/* These functions write a file in the same way, but in several pieces. If a call fails, it drops the output itself.
 * If the caller gives up before kiln__output_finish(), it must call kiln__output_drop(). */
kiln_status kiln__output_begin(const kiln_allocator *mem, const char *path, kiln__output *out, kiln_error **error);
kiln_status kiln__output_add(kiln__output *out, const void *data, size_t length, kiln_error **error);
kiln_status kiln__output_finish(kiln__output *out, kiln_error **error);
void kiln__output_drop(kiln__output *out);
/* Writes all bytes, and continues after signals. Returns 0, or -1 and sets errno. */
int kiln__write_all(int fd, const void *data, size_t length);
/* Makes a folder and its missing parents, all with `mode`. An existing folder is no error. */
kiln_status kiln__make_folders(const kiln_allocator *mem, const char *path, unsigned mode, kiln_error **error);
bool kiln__file_exists(const char *path);
/* Returns the folder of a path: "dir/of/path" for "dir/of/path/file", and "." for a name without a slash. */
char *kiln__arena_folder(kiln__arena *arena, const char *path);
/* Returns true if `path`, which must exist, lies in or below `folder` after links in both are resolved. */
bool kiln__path_within(const kiln_allocator *mem, const char *path, const char *folder);
bool kiln__path_below(const char *path, const char *folder); /* Does the same as the function above for two resolved
                                                              * paths. */

/* ---- architectures by name (target.c) ---- */

typedef struct kiln__target {
    int arch; /* 90 */
    /* 'a' in sm_90a (code for this architecture only), 'f' in sm_100f (code for its family), otherwise 0 */
    char kind;
} kiln__target;
#define KILN__TARGET_TEXT 24
bool kiln__target_parse(const char *text, kiln__target *target); /* "sm_90a", "compute_90", "90" */
/* "sm_90a" with the prefix "sm"; returns `text`. */
const char *kiln__target_print(kiln__target target, const char *prefix, char text[KILN__TARGET_TEXT]);
/* Returns true if PTX for this target loads on a device of compute capability cc, such as 90. */
bool kiln__target_runs(kiln__target target, int cc);

/* ---- the C locale (locale.c) ----
 *
 * The host program may have set a locale with a decimal comma, or a locale where 'I' is no capital 'i'. Kiln reads and
 * writes the same bytes in every locale. tests/style/locale.py forbids the functions of the C library that obey the
 * locale. */

/* Between these two calls the calling thread is in the C locale. Use these two calls around calls of a library that
 * reads or writes numbers. A callback of the caller must not run between the two calls. */
locale_t kiln__locale_enter(void);
void kiln__locale_leave(locale_t before);
/* These functions replace strerror() and strsignal(). A text is valid until the next call in this thread. Messages
 * are the same under every locale, so that a program or a person can search for them. */
const char *kiln__error_text(int error);
const char *kiln__signal_text(int number);
double kiln__parse_double(const char *text, char **end);                               /* strtod() */
int kiln__format(char *room, size_t size, const char *format, ...) KILN__PRINTF(3, 4); /* snprintf() */
int kiln__vformat(char *room, size_t size, const char *format, va_list arguments) KILN__PRINTF(3, 0);
/* strftime() of a time in microseconds since 1970, in UTC. Returns false if the time has no such date, or if
 * `size` is too small. */
bool kiln__format_time(char *room, size_t size, const char *format, int64_t made)
    __attribute__((format(strftime, 3, 0)));
struct tm;
char *kiln__parse_time(const char *text, const char *format, struct tm *parts); /* strptime() */
char kiln__lower(char letter);
bool kiln__matches(const char *pattern, const char *text); /* fnmatch(), in which a character is a byte */
/* Returns true if the first `length` characters of two texts are equal, without regard to the case of ASCII letters.
 * If `length` is SIZE_MAX, compares whole texts. */
bool kiln__same_word(const char *a, const char *b, size_t length);

/* ---- hashes (hash.c) ---- */

typedef struct kiln__hash128 {
    uint64_t low, high;
} kiln__hash128;
kiln__hash128 kiln__hash(const void *data, size_t length); /* XXH3 128 */
void kiln__hash_print(kiln__hash128 hash, char text[33]);  /* 32 hexadecimal digits */
/* FNV-1a, for short texts: names in tables. */
static inline uint32_t kiln__hash_short(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* ---- time (clock.c) ---- */

uint64_t kiln__now_ns(void);                /* monotonic */
double kiln__seconds_since(uint64_t start); /* a time of kiln__now_ns() */
/* a time of kiln__now_ns(), or 0 (no deadline) for at most 0 s and for 30 years or more */
uint64_t kiln__deadline_in(double seconds);
int64_t kiln__today_ns(void); /* since 1970, by the clock that may be set */

/* ---- threads (thread.c) ---- */

/* Starts a thread with a stack of 8 MiB, whatever limit of stacks (`ulimit -s`) the process was started with. Returns
 * 0 or an error of pthread_create(). */
int kiln__thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

/* ---- the machine (host.c) ---- */

unsigned kiln__cpu_count(void); /* cores this process may run on */
/* name, system and processor of the host: "a1, Linux 6.1 x86_64, 64 x AMD EPYC" */
void kiln__host_describe(kiln__text *out);
/* Returns the kind of the network file system ("NFS", "Lustre") of a folder, on which locks and shared memory may not
 * reach other machines. Returns NULL if it is not a known network file system. */
const char *kiln__network_disk(const char *folder);
/* Restricts the calling thread, and the threads that it starts later, to the cores near a PCI device among its current
 * cores. Returns their number. Returns 0 and changes nothing if it is not known which cores are near, if all are near,
 * or if the thread may use none of the near cores (*far is then true). `list` is the file in /sys with the near cores,
 * "0-15,32-47" (local_cpulist of the device). */
unsigned kiln__host_go_near(const char *list, bool *far);
uint64_t kiln__host_memory(void);      /* bytes of physical memory, as limited by a cgroup */
uint64_t kiln__host_memory_free(void); /* bytes of memory that are available now without swapping */

/* ---- logging ---- */

typedef struct kiln__log {
    kiln_log_fn fn; /* NULL means no log */
    void *user;
} kiln__log;
/* Logs a message of at most 2047 bytes; the rest is cut off. `log` may be NULL. */
void kiln__logf(const kiln__log *log, kiln_log_level level, const char *format, ...) KILN__PRINTF(3, 4);

#endif
