/* base.h - functions that every part of the engine uses: memory, errors, strings, files, hashing, time. This code knows
 * nothing about the other parts of the engine. The files of the engine share the names that begin with `kiln__`, but
 * these names are not public. */
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
/* KILN__SANITIZED is 1 in a build with sanitizers. Sanitizers reserve terabytes of address space, start threads and
 * read /proc, so limits of memory and the sandbox need exceptions. */
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

/* returns NULL if memory runs out, and a valid pointer for size 0 */
void *kiln__alloc(const kiln_allocator *mem, size_t size);
/* returns zeroed memory, or NULL if memory runs out or the product overflows */
void *kiln__calloc(const kiln_allocator *mem, size_t count, size_t size);
void *kiln__realloc(const kiln_allocator *mem, void *pointer, size_t size);
void kiln__free(const kiln_allocator *mem, void *pointer);
char *kiln__strdup(const kiln_allocator *mem, const char *text);
/* Grows *array so that it has place for `need` elements of `size` bytes. *capacity is the number of elements that fit.
 * Returns false if memory runs out. */
bool kiln__grow(const kiln_allocator *mem, void *array, size_t *capacity, size_t need, size_t size);

/* An arena holds many small allocations with one lifetime. The owner zero-initialises the arena and sets mem.
 * kiln__arena_free() frees all allocations together. Only one thread at a time may use an arena. After an allocation
 * fails, `failed` stays set, so a builder may check it once at the end. */
typedef struct kiln__arena {
    const kiln_allocator *mem;
    struct kiln__block *blocks;
    bool failed;
} kiln__arena;
/* returns zeroed memory that is aligned for any type, or NULL if memory runs out */
void *kiln__arena_alloc(kiln__arena *arena, size_t size);
char *kiln__arena_strndup(kiln__arena *arena, const char *text, size_t length);
char *kiln__arena_strdup(kiln__arena *arena, const char *text);
char *kiln__arena_printf(kiln__arena *arena, const char *format, ...) KILN__PRINTF(2, 3);
/* Moves all allocations of `from` to `to`, which must have the same allocator. After this call `from` is empty. */
void kiln__arena_join(kiln__arena *to, kiln__arena *from);
void kiln__arena_free(kiln__arena *arena);

/* ---- errors: the first one wins ---- */

struct kiln_error {
    const kiln_allocator *mem; /* the allocator of the error, or NULL for the static out-of-memory error */
    kiln_allocator mem_copy;
    kiln_status status;
    int cuda;
    bool passing;   /* see kiln__error_mark_passing() */
    char message[]; /* NUL-terminated */
};

/* Creates *error and returns `status`, so that a failing function ends in `return kiln__fail(mem, error,
 * KILN_ERROR_..., "...", ...)`. Creates no error if `error` is NULL or *error exists already. If memory runs out,
 * *error becomes a static out-of-memory error. */
kiln_status kiln__fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, const char *format, ...)
    KILN__PRINTF(4, 5);
kiln_status kiln__fail_cuda(const kiln_allocator *mem, kiln_error **error, kiln_status status, int cuda,
                            const char *format, ...) KILN__PRINTF(5, 6);
kiln_status kiln__fail_memory(kiln_error **error); /* allocates nothing */
/* an analyzer reads only one file, so this line tells it that a failure is never KILN_OK */
#if defined __clang_analyzer__ || defined KILN_ANALYZER
#define kiln__fail(mem, error, status, ...) (kiln__fail(mem, error, status, __VA_ARGS__), (status))
#define kiln__fail_memory(error) (kiln__fail_memory(error), KILN_ERROR_MEMORY)
#endif
/* Marks an error whose cause is the state of the machine and not the work, for example a killed worker process. Kiln
 * must not store such an error as a result. NULL is allowed. */
void kiln__error_mark_passing(kiln_error *error);
/* returns whether the error is marked as passing; true for an out-of-memory error too */
bool kiln__error_is_passing(const kiln_error *error);

/* ---- the arguments of public functions ----
 *
 * Every public function that returns a status begins with these macros, which check its arguments. A failed check
 * returns KILN_ERROR_ARGUMENT and a message that names the function and the argument as kiln.h spells them
 * ("kiln_plan_bind: buffer is NULL"). So the arguments of the macros must have the names in kiln.h. */

enum { KILN__MOST_ITEMS = 1 << 20 }; /* largest number of elements of a list that a caller passes */

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
#define KILN__NEEDS_NUMBER(mem, error, argument) /* 0 or more, not NaN */                                              \
    do {                                                                                                               \
        if (!((argument) >= 0))                                                                                        \
            return kiln__fail_number(mem, error, __func__, #argument, argument);                                       \
    } while (0)
/* Calls a function that returns a status, and returns this status if the function failed. */
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

/* Copies a struct of the caller, `given`, into the local struct `taken`. Its first member is `size_t size`. If `given`
 * is NULL, `taken` is all zero. Messages call the struct `argument`. This is the only place that reads the sizes of the
 * caller's structs. kiln.h states the rule for these sizes. */
#define KILN__TAKE(mem, error, argument, given, taken)                                                                 \
    KILN__TRY(kiln__take_struct(mem, error, __func__, argument, given, taken, sizeof *(taken)))

/* Checks a struct of the caller that the library fills. The first member of the struct is `size_t size`, which the
 * caller sets. Messages call the struct by the name of `wanted`. */
#define KILN__NEEDS_SIZED(mem, error, wanted)                                                                          \
    do {                                                                                                               \
        KILN__NEEDS(mem, error, wanted);                                                                               \
        KILN__TRY(kiln__check_size(mem, error, __func__, #wanted, (wanted)->size));                                    \
    } while (0)
/* Fills the caller's struct `wanted` from the complete struct `made`. Members of `wanted` that `made` lacks become
 * zero. */
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
/* Does the same as kiln__take_struct() for run options, and also checks the values of the options. `argument` is
 * "options" or "options.run". */
kiln_status kiln__take_run(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                           const kiln_run_options *given, kiln_run_options *taken);
/* Does the same as kiln__take_struct() for a filter of samples. */
kiln_status kiln__take_filter(const kiln_allocator *mem, kiln_error **error, const char *function,
                              const kiln_store_filter *given, kiln_store_filter *taken);

/* ---- a growing string with a sticky error ---- */

typedef struct kiln__text {
    const kiln_allocator *mem;
    char *data; /* a NUL-terminated text, or NULL before anything was added */
    size_t length, capacity;
    bool failed; /* an allocation failed, so the content is incomplete */
} kiln__text;
void kiln__text_add(kiln__text *text, const char *bytes, size_t length);
void kiln__text_puts(kiln__text *text, const char *string);
void kiln__text_printf(kiln__text *text, const char *format, ...) KILN__PRINTF(2, 3);
void kiln__text_vprintf(kiln__text *text, const char *format, va_list arguments);
const char *kiln__text_get(const kiln__text *text); /* returns the content, or "" if nothing was added */
void kiln__text_free(kiln__text *text);
/* Returns the character at *at and moves *at past it. If the bytes are not UTF-8, returns 0xfffd and moves *at by one
 * byte. */
uint32_t kiln__utf8_next(const char **at);

/* ---- source positions and diagnostics: all errors of a file are reported together ---- */

/* The text of a file. Parsed objects refer to this text, so the text must exist as long as messages may show positions
 * in it. */
typedef struct kiln__source {
    const char *name; /* name of the file in messages */
    const char *text;
    size_t length;
} kiln__source;

typedef struct kiln__pos {
    const kiln__source *source; /* the text of the file, or NULL if this struct names no position */
    unsigned line, column;      /* both count from 1, and the column counts bytes */
} kiln__pos;

/* Collects errors. Each error becomes "file:line:column: message\n the line\n ^". */
typedef struct kiln__diag {
    const kiln_allocator *mem;
    kiln__text text;
    /* `count` is the number of errors. `limit` is the largest number of errors that are shown, where 0 means 100. A
     * last line tells how many errors exceed the limit */
    unsigned count, limit;
} kiln__diag;
void kiln__diag_add(kiln__diag *diag, kiln__pos pos, const char *format, ...) KILN__PRINTF(3, 4);
/* Returns KILN_OK if no error was added. If an error was added, returns `status` and creates an error with the whole
 * text. The function frees the contents of `diag`. */
kiln_status kiln__diag_finish(kiln__diag *diag, kiln_status status, kiln_error **error);
/* Creates an error with a single message at a position, and returns `status`. */
kiln_status kiln__diag_fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, kiln__pos pos,
                            const char *format, va_list arguments);

/* Returns the name in `names` with the smallest edit distance to `name`. The distance ignores case. The distance may be
 * at most a third of the length of `name` (rounded down) plus 1. If every name is farther away, returns NULL. A name of
 * one letter is near only to the same letter. The function skips NULL entries of `names`. */
const char *kiln__nearest(const char *name, const char *const *names, size_t count);

/* ---- files ---- */

/* Opens a file for reading without waiting. The function refuses everything except a regular file. The message tells
 * the kind of the file, such as "is a folder, not a regular file". `resolved` means that `path` is a result of
 * realpath(), and that the caller has checked it. The function then refuses the path if it contains a symbolic link
 * now. */
kiln_status kiln__file_open(const kiln_allocator *mem, const char *path, bool resolved, int *fd, kiln_error **error);
/* Makes the same check as kiln__file_open() without opening the file. This function is for files that a library opens
 * itself, because closing a second descriptor would drop this process's locks on the file. The check succeeds if
 * nothing exists at the path. */
kiln_status kiln__file_check(const kiln_allocator *mem, const char *path, kiln_error **error);
const char *kiln__file_kind(unsigned mode); /* `mode` is st_mode. returns a text such as "a folder" */
/* Reads a whole file into *data, followed by a NUL that *length does not count. Fails if the file has more than `limit`
 * bytes (0 means 1 GiB). The caller frees *data. */
kiln_status kiln__file_read(const kiln_allocator *mem, const char *path, size_t limit, char **data, size_t *length,
                            kiln_error **error);
/* Reads a file as kiln__file_read() does, but refuses a path that contains a symbolic link. */
kiln_status kiln__file_read_resolved(const kiln_allocator *mem, const char *path, size_t limit, char **data,
                                     size_t *length, kiln_error **error);
/* Reads a file only if its resolved path lies in or below one of the folders. The caller must have resolved the
 * folders. */
kiln_status kiln__file_read_below(const kiln_allocator *mem, const char *path, const char *const *folders, size_t count,
                                  size_t limit, char **data, size_t *length, kiln_error **error);

/* Writes a file in the way in which Kiln writes every file: all bytes to a temporary file in the same folder, fsync,
 * rename to `path`. A reader sees the old file or the new file, but never a part of a file. After a failure the old
 * file is unchanged. The function replaces only a regular file. It refuses a device, a FIFO, a folder and a symbolic
 * link. The new file gets the mode of the old file. If there is no old file, the mode is 0666 minus the umask. If the
 * file exceeds a limit on file sizes (ulimit -f), the system kills the process. If the host ignores SIGXFSZ, the
 * function returns an error instead. */
kiln_status kiln__file_write(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                             kiln_error **error);
typedef struct kiln__output {
    const kiln_allocator *mem;
    const char *path; /* path of the file; the caller keeps this text until the output is finished or dropped */
    int fd;
    bool named, replaces; /* `named`: the temporary file has a name; `replaces`: an old file exists */
    kiln__text temporary;
} kiln__output;
/* These functions write a file as kiln__file_write() does, but in several pieces. If one of these calls fails, the call
 * itself drops the output. If the caller gives up before kiln__output_finish(), it must call kiln__output_drop(). */
kiln_status kiln__output_begin(const kiln_allocator *mem, const char *path, kiln__output *out, kiln_error **error);
kiln_status kiln__output_add(kiln__output *out, const void *data, size_t length, kiln_error **error);
kiln_status kiln__output_finish(kiln__output *out, kiln_error **error);
void kiln__output_drop(kiln__output *out);
/* Writes all bytes, and continues after an interruption by a signal. Returns 0. After an error, returns -1 and sets
 * errno. */
int kiln__write_all(int fd, const void *data, size_t length);
/* Makes a folder and its missing parents with the mode `mode`. It is not an error if the folder exists. */
kiln_status kiln__make_folders(const kiln_allocator *mem, const char *path, unsigned mode, kiln_error **error);
bool kiln__file_exists(const char *path);
/* Returns the folder of a path: "dir/of/path" for "dir/of/path/file", and "." for a name without a slash. */
char *kiln__arena_folder(kiln__arena *arena, const char *path);
/* Resolves the links in `path`, which must exist, and in `folder`. Returns true if `path` is `folder` or lies below
 * it. */
bool kiln__path_within(const kiln_allocator *mem, const char *path, const char *folder);
/* does the same as kiln__path_within() for two paths that are already resolved */
bool kiln__path_below(const char *path, const char *folder);

/* ---- architectures by name (target.c) ---- */

typedef struct kiln__target {
    int arch; /* 90 */
    /* 'a' as in sm_90a (code for this architecture only), 'f' as in sm_100f (code for the family of the architecture),
     * or 0 */
    char kind;
} kiln__target;
#define KILN__TARGET_TEXT 24
bool kiln__target_parse(const char *text, kiln__target *target); /* "sm_90a", "compute_90", "90" */
/* Writes the name of a target, "sm_90a" for the prefix "sm", and returns `text`. */
const char *kiln__target_print(kiln__target target, const char *prefix, char text[KILN__TARGET_TEXT]);
/* Returns true if a device of compute capability cc, such as 90, can load PTX for this target. */
bool kiln__target_runs(kiln__target target, int cc);

/* ---- the C locale (locale.c) ----
 *
 * The host program may have set a locale with a decimal comma, or a locale where 'I' is not the capital of 'i'. Kiln
 * reads and writes the same bytes in every locale. tests/style/locale.py forbids the functions of the C library that
 * obey the locale. */

/* kiln__locale_enter() switches the calling thread to the C locale until kiln__locale_leave(). The caller encloses
 * calls of a library that reads or writes numbers in these two calls. A callback of the user must not run between these
 * two calls. */
locale_t kiln__locale_enter(void);
void kiln__locale_leave(locale_t before);
/* These functions replace strerror() and strsignal(). The returned text is valid until the next call in the same
 * thread. The messages are the same in every locale, so that a program or a person can search for them. */
const char *kiln__error_text(int error);
const char *kiln__signal_text(int number);
double kiln__parse_double(const char *text, char **end);                               /* strtod() */
int kiln__format(char *room, size_t size, const char *format, ...) KILN__PRINTF(3, 4); /* snprintf() */
int kiln__vformat(char *room, size_t size, const char *format, va_list arguments) KILN__PRINTF(3, 0);
/* Formats a time in microseconds since 1970 as strftime() does, in UTC. Returns false if the calendar has no date for
 * the time, or if `size` is too small. */
bool kiln__format_time(char *room, size_t size, const char *format, int64_t made)
    __attribute__((format(strftime, 3, 0)));
struct tm;
char *kiln__parse_time(const char *text, const char *format, struct tm *parts); /* strptime() */
char kiln__lower(char letter);
/* does the same as fnmatch(), where each byte is a character */
bool kiln__matches(const char *pattern, const char *text);
/* Returns true if the first `length` characters of two texts are equal. ASCII letters are equal in both cases. If
 * `length` is SIZE_MAX, the function compares the whole texts. */
bool kiln__same_word(const char *a, const char *b, size_t length);

/* ---- hashes (hash.c) ---- */

typedef struct kiln__hash128 {
    uint64_t low, high;
} kiln__hash128;
kiln__hash128 kiln__hash(const void *data, size_t length); /* XXH3 128 */
void kiln__hash_print(kiln__hash128 hash, char text[33]);  /* 32 hexadecimal digits */
/* Returns the FNV-1a hash of a short text, such as a name in a table. */
static inline uint32_t kiln__hash_short(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

/* ---- time (clock.c) ---- */

uint64_t kiln__now_ns(void);                /* monotonic */
double kiln__seconds_since(uint64_t start); /* `start` is a time of kiln__now_ns() */
/* returns a time of kiln__now_ns(). Returns 0 (no deadline) if `seconds` is at most 0, or 30 years or more */
uint64_t kiln__deadline_in(double seconds);
int64_t kiln__today_ns(void); /* returns nanoseconds since 1970 by the clock that the user may set */

/* ---- threads (thread.c) ---- */

/* Starts a thread with a stack of 8 MiB, independently of the limit of stacks (`ulimit -s`) of the process. Returns 0
 * or the error number of pthread_create(). */
int kiln__thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

/* ---- the machine (host.c) ---- */

unsigned kiln__cpu_count(void); /* returns the number of cores on which this process may run */
/* writes the name, system and processor of the host: "a1, Linux 6.1 x86_64, 64 x AMD EPYC" */
void kiln__host_describe(kiln__text *out);
/* Returns the kind of the network file system ("NFS", "Lustre") on which a folder lies. On such a file system, locks
 * and shared memory may not work across machines. Returns NULL if the folder is not on a known network file system. */
const char *kiln__network_disk(const char *folder);
/* Restricts the calling thread, and threads that it starts later, to its cores near a PCI device.
 * Returns their number. Returns 0 and changes nothing if the near cores are unknown, if all cores are near, or if the
 * thread may use none of the near cores (*far is then true). `list` is the path of the file in /sys that lists the near
 * cores, "0-15,32-47" (local_cpulist of the device). */
unsigned kiln__host_go_near(const char *list, bool *far);
/* returns the bytes of physical memory, or the limit of the cgroup if it is smaller */
uint64_t kiln__host_memory(void);
uint64_t kiln__host_memory_free(void); /* returns the bytes of memory that are available now without swapping */

/* ---- logging ---- */

typedef struct kiln__log {
    kiln_log_fn fn; /* function that receives messages, or NULL if there is no log */
    void *user;
} kiln__log;
/* Logs a message of at most 2047 bytes, and cuts off the rest. `log` may be NULL. */
void kiln__logf(const kiln__log *log, kiln_log_level level, const char *format, ...) KILN__PRINTF(3, 4);

#endif
