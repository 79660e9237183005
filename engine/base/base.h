/* base.h - what every part of the engine stands on: memory, errors, strings, files, hashing, time.
 * Knows nothing of the rest. `kiln__` names cross files but are not public. */
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kiln.h"
#include "kiln_sim.h"
#include "kiln_tune.h"

#define KILN__PRINTF(f, a) __attribute__((format(printf, f, a)))
#define KILN__COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- memory: every allocation goes through a kiln_allocator; NULL means malloc ---- */

void *kiln__alloc(const kiln_allocator *mem, size_t size); /* NULL if there is none; size 0 gives a valid pointer */
void *kiln__calloc(const kiln_allocator *mem, size_t count, size_t size); /* zeroed; NULL on overflow too */
void *kiln__realloc(const kiln_allocator *mem, void *pointer, size_t size);
void kiln__free(const kiln_allocator *mem, void *pointer);
char *kiln__strdup(const kiln_allocator *mem, const char *text);
/* Grows *array (elements of `size` bytes, capacity *capacity) so that it holds `need`; false if memory is out. */
bool kiln__grow(const kiln_allocator *mem, void *array, size_t *capacity, size_t need, size_t size);

/* An arena: many small allocations with one lifetime. Zero-initialise, set mem; freed whole. Not thread-safe.
 * Sticky: after a failure `failed` stays set, so a builder may check once at the end. */
typedef struct kiln__arena {
    const kiln_allocator *mem;
    struct kiln__block *blocks;
    bool failed;
} kiln__arena;
void *kiln__arena_alloc(kiln__arena *arena, size_t size); /* zeroed, aligned for anything; NULL if memory is out */
char *kiln__arena_strndup(kiln__arena *arena, const char *text, size_t length);
char *kiln__arena_strdup(kiln__arena *arena, const char *text);
char *kiln__arena_printf(kiln__arena *arena, const char *format, ...) KILN__PRINTF(2, 3);
/* Everything in `from` moves to `to`, which has the same allocator; `from` is empty then. */
void kiln__arena_join(kiln__arena *to, kiln__arena *from);
void kiln__arena_free(kiln__arena *arena);

/* ---- errors: the first one wins ---- */

struct kiln_error {
    const kiln_allocator *mem; /* NULL for the one static out-of-memory error */
    kiln_allocator mem_copy;
    kiln_status status;
    int cuda;
    bool passing; /* see kiln__error_mark_passing() */
    char message[]; /* NUL-terminated */
};

/* Creates *error (if error is not NULL and *error is NULL) and returns `status`, so that a failing function ends in
 * `return kiln__fail(mem, error, KILN_ERROR_..., "...", ...)`. Falls back to a static out-of-memory error. */
kiln_status kiln__fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, const char *format, ...)
    KILN__PRINTF(4, 5);
kiln_status kiln__fail_cuda(const kiln_allocator *mem, kiln_error **error, kiln_status status, int cuda,
                            const char *format, ...) KILN__PRINTF(5, 6);
kiln_status kiln__fail_memory(kiln_error **error); /* allocates nothing */
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* which see no other file: no failure is KILN_OK */
#define kiln__fail(mem, error, status, ...) (kiln__fail(mem, error, status, __VA_ARGS__), (status))
#define kiln__fail_memory(error) (kiln__fail_memory(error), KILN_ERROR_MEMORY)
#endif
/* Notes that the failure says something of the machine at that moment and nothing of the work, so that nobody keeps it
 * as an answer: a worker process that was killed. NULL is fine. */
void kiln__error_mark_passing(kiln_error *error);
bool kiln__error_is_passing(const kiln_error *error); /* out of memory, too */

/* ---- the arguments of public functions ----
 *
 * Every public function with a status begins with these: KILN_ERROR_ARGUMENT and a message that names the function and the
 * argument ("kiln_plan_bind: buffer is NULL") as kiln.h spells both. An argument stands in them by its name there. */

enum { KILN__MOST_ITEMS = 1 << 20 }; /* of a list that a caller hands over */

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
/* What returns a status: returned from here if it failed. */
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

/* A struct that the caller fills, whose first member is `size_t size`: `given` (NULL: all zero) under the name `argument`,
 * copied into the local struct `taken`. This is the one place that heeds sizes; kiln.h states the rule. */
#define KILN__TAKE(mem, error, argument, given, taken)                                                                 \
    KILN__TRY(kiln__take_struct(mem, error, __func__, argument, given, taken, sizeof *(taken)))

/* A struct that the library fills, whose first member is `size_t size`, set by the caller: `wanted` under its own name. */
#define KILN__NEEDS_SIZED(mem, error, wanted)                                                                          \
    do {                                                                                                               \
        KILN__NEEDS(mem, error, wanted);                                                                               \
        KILN__TRY(kiln__check_size(mem, error, __func__, #wanted, (wanted)->size));                                    \
    } while (0)
/* Fills it from the whole struct `made`; what `made` does not have becomes zero. */
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
                               const kiln_choice *choice); /* NULL is fine */
kiln_status kiln__take_struct(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                              const void *given, void *taken, size_t known);
kiln_status kiln__check_size(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                             size_t size);
void kiln__give_struct(void *wanted, size_t size, const void *made, size_t known);
/* The same for run options, with their values looked at. `argument`: "options", "options.run". */
kiln_status kiln__take_run(const kiln_allocator *mem, kiln_error **error, const char *function, const char *argument,
                           const kiln_run_options *given, kiln_run_options *taken);
/* A filter of samples, taken and looked through. */
kiln_status kiln__take_filter(const kiln_allocator *mem, kiln_error **error, const char *function,
                              const kiln_store_filter *given, kiln_store_filter *taken);

/* ---- a growing string with a sticky error ---- */

typedef struct kiln__text {
    const kiln_allocator *mem;
    char *data;   /* NUL-terminated once anything was added; NULL before */
    size_t length, capacity;
    bool failed;  /* memory was out at least once: the content is incomplete */
} kiln__text;
void kiln__text_add(kiln__text *text, const char *bytes, size_t length);
void kiln__text_puts(kiln__text *text, const char *string);
void kiln__text_printf(kiln__text *text, const char *format, ...) KILN__PRINTF(2, 3);
void kiln__text_vprintf(kiln__text *text, const char *format, va_list arguments);
const char *kiln__text_get(const kiln__text *text); /* "" if nothing was added */
void kiln__text_free(kiln__text *text);
/* The character at *at, which moves past it; for bytes that are no UTF-8 past one of them, and 0xfffd. */
uint32_t kiln__utf8_next(const char **at);

/* ---- source positions and diagnostics: all errors of a file at once ---- */

/* A file's text, kept as long as positions into it are shown. Referenced by what was parsed from it. */
typedef struct kiln__source {
    const char *name; /* as messages show it */
    const char *text;
    size_t length;
} kiln__source;

typedef struct kiln__pos {
    const kiln__source *source; /* NULL: no place */
    unsigned line, column;      /* from 1; column in bytes */
} kiln__pos;

/* Collects errors. Each becomes "file:line:column: message\n  the line\n  ^". */
typedef struct kiln__diag {
    const kiln_allocator *mem;
    kiln__text text;
    unsigned count, limit; /* limit 0: 100; past it only a closing line says how many more */
} kiln__diag;
void kiln__diag_add(kiln__diag *diag, kiln__pos pos, const char *format, ...) KILN__PRINTF(3, 4);
/* KILN_OK if nothing was added, else an error with the whole text and a count line. Frees what diag holds. */
kiln_status kiln__diag_finish(kiln__diag *diag, kiln_status status, kiln_error **error);

/* The nearest of `count` names to `name` by edit distance, NULL if none is near (distance above a third of it). */
const char *kiln__nearest(const char *name, const char *const *names, size_t count);

/* ---- files ---- */

/* Opens a file to be read, without ever waiting. Anything but a regular file is refused by what it is ("is a FIFO (named
 * pipe), not a regular file"). `resolved`: the path is what realpath gave when it was checked; one in which a link has
 * appeared since is refused. */
kiln_status kiln__file_open(const kiln_allocator *mem, const char *path, bool resolved, int *fd, kiln_error **error);
/* The same check for files that somebody else opens; it opens nothing, so that no lock of this process is lost. A path
 * at which nothing is passes. */
kiln_status kiln__file_check(const kiln_allocator *mem, const char *path, kiln_error **error);
const char *kiln__file_kind(unsigned mode); /* of st_mode: "a folder" */
/* Reads a whole file (at most `limit` bytes, 0: 1 GiB) into *data, NUL-terminated past its end. */
kiln_status kiln__file_read(const kiln_allocator *mem, const char *path, size_t limit, char **data, size_t *length,
                            kiln_error **error);
kiln_status kiln__file_read_resolved(const kiln_allocator *mem, const char *path, size_t limit, char **data,
                                     size_t *length, kiln_error **error); /* as `resolved` above */
/* Only if the path leads into one of the folders, whose own links are resolved already. */
kiln_status kiln__file_read_below(const kiln_allocator *mem, const char *path, const char *const *folders, size_t count,
                                  size_t limit, char **data, size_t *length, kiln_error **error);

/* Every file of Kiln's is written like this: all of it to a temporary file in the same folder, synced, renamed over the
 * path. A reader sees the old file or the new one, never a part, and whatever fails leaves the old one as it was. Only
 * nothing or a regular file is replaced: a device, a FIFO, a folder and a symbolic link are refused. A file that is
 * replaced keeps its mode, a new one gets 0666 less the umask. The host may ignore SIGXFSZ, for a message in place of
 * its end where files may not grow. */
kiln_status kiln__file_write(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                             kiln_error **error);
typedef struct kiln__output {
    const kiln_allocator *mem;
    const char *path; /* the caller's */
    int fd;
    bool named, replaces; /* the temporary file has its name; there is an old file */
    kiln__text temporary;
} kiln__output;
/* The same piece by piece. After a failure nothing is left to drop; what is not finished has to be dropped. */
kiln_status kiln__output_begin(const kiln_allocator *mem, const char *path, kiln__output *out, kiln_error **error);
kiln_status kiln__output_add(kiln__output *out, const void *data, size_t length, kiln_error **error);
kiln_status kiln__output_finish(kiln__output *out, kiln_error **error);
void kiln__output_drop(kiln__output *out);
/* 0, or -1 and errno: all of the bytes were written, across interruptions. */
int kiln__write_all(int fd, const void *data, size_t length);
kiln_status kiln__make_folders(const kiln_allocator *mem, const char *path, unsigned mode, kiln_error **error);
bool kiln__file_exists(const char *path);
/* "dir/of/path" of "dir/of/path/file"; "." where there is no slash. */
char *kiln__arena_folder(kiln__arena *arena, const char *path);
/* True if `path` (which exists) lies in or below `folder` once links in both are resolved. */
bool kiln__path_within(const kiln_allocator *mem, const char *path, const char *folder);
bool kiln__path_below(const char *path, const char *folder); /* the same of two paths that are resolved already */

/* ---- hashing, time, machine ---- */

typedef struct kiln__hash128 { uint64_t low, high; } kiln__hash128;
kiln__hash128 kiln__hash(const void *data, size_t length); /* XXH3 128 */
uint64_t kiln__now_ns(void); /* monotonic */
unsigned kiln__cpu_count(void); /* cores this process may run on */
uint64_t kiln__host_memory(void); /* bytes of physical memory, as limited by a cgroup */
uint64_t kiln__host_memory_free(void); /* of it, what could be had now without swapping */

/* ---- logging ---- */

typedef struct kiln__log {
    kiln_log_fn fn; /* NULL: nobody listens */
    void *user;
} kiln__log;
void kiln__logf(const kiln__log *log, kiln_log_level level, const char *format, ...) KILN__PRINTF(3, 4);

#endif
