/* compile.h - NVRTC behind worker processes. Knows nothing of specs or tuning.
 *
 * NVRTC serialises inside one process, can hang and can crash, so compiles run in worker processes (the program
 * kiln-worker, started with posix_spawn and spoken to through a socket), confined to CUDA's headers, with a limit of time and
 * of memory each. Where no worker program is found, or the caller wishes it, the compile runs in this process, and none of
 * that holds (README.md). */
#ifndef KILN_COMPILE_H
#define KILN_COMPILE_H

#include <stdatomic.h>

#include "base.h"
#include "cache.h" /* kiln__unit: what a compile yields */

/* Sanitizers reserve terabytes of address space, start threads and read /proc. */
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

/* ---- NVRTC by dlopen ---- */
typedef struct kiln__nvrtc kiln__nvrtc;
/* Looks for libnvrtc: $KILN_NVRTC, the build's own, the loader's path, the toolkit's folder ($CUDA_HOME,
 * /usr/local/cuda), versioned sonames newest first. KILN_ERROR_NO_COMPILER says what was tried and what to do. */
kiln_status kiln__nvrtc_open(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* The same for one file and one folder of headers ("" or NULL: looked for), as kiln__nvrtc_path() and
 * kiln__nvrtc_include() gave them: what a worker does. */
kiln_status kiln__nvrtc_open_file(const kiln_allocator *mem, const char *path, const char *include, kiln__nvrtc **nvrtc,
                                  kiln_error **error);
void kiln__nvrtc_close(kiln__nvrtc *nvrtc);
int kiln__nvrtc_version(const kiln__nvrtc *nvrtc);      /* 13000 for 13.0 */
const char *kiln__nvrtc_path(const kiln__nvrtc *nvrtc); /* the file that was loaded */
/* A text that changes whenever the bytes it makes may: version, size and mtime of the library. Its headers have digests. */
const char *kiln__nvrtc_identity(const kiln__nvrtc *nvrtc);
const char *kiln__nvrtc_include(const kiln__nvrtc *nvrtc); /* folder of the CUDA headers, "" if none was found */
/* A digest of what CUDA's own headers say that `names` (as #include <NAME> has them) reach; "" if they are none of CUDA's.
 * Files are read once and asked after (stat) at each call; unless `fresh`, an answer less than a second old is given again. Any
 * thread. */
kiln_status kiln__nvrtc_headers(kiln__nvrtc *nvrtc, const char *const *names, size_t count, bool fresh, char digest[33],
                                kiln_error **error);
/* libcudadevrt.a: beside NVRTC (which may be NULL), or in the toolkit's folder. NULL if there is none; in the arena. */
const char *kiln__device_runtime(const kiln__nvrtc *nvrtc, kiln__arena *arena);
/* The architectures it knows, ascending: 75, 80, ... */
size_t kiln__nvrtc_archs(const kiln__nvrtc *nvrtc, int *archs, size_t room);

typedef struct kiln__include {
    const char *name, *text;
    const char *path; /* where it was found: below the folder of the source, or one of `folders` */
} kiln__include;

/* The project headers that `text` (of the file `path`) reaches by #include "name", each once, however deep: read from
 * the folder of the file that includes it, else from `folders`, never from outside those folders (links resolved).
 * Names that are not found there are left to the compiler. Everything returned lives in `arena`; depth, count and bytes
 * are limited (KILN_ERROR_REFUSED). */
kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const char *const *folders, size_t folder_count, const kiln__include **includes,
                                   size_t *count, kiln_error **error);
/* The same, and the names of what was not found there, each once: CUDA's headers, for kiln__nvrtc_headers(). */
kiln_status kiln__includes_all(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                               const char *const *folders, size_t folder_count, const kiln__include **includes,
                               size_t *count, const char *const **others, size_t *other_count, kiln_error **error);

typedef struct kiln__compile_request {
    const char *name;   /* of the source, for messages */
    const char *source; /* after template filling */
    const kiln__include *includes;
    size_t include_count;
    const char *const *options;
    size_t option_count; /* without --gpu-architecture */
    int arch;            /* 90 */
    bool cubin;          /* also machine code for sm_ARCH; PTX for compute_ARCH is always made */
    const char *const *names;
    size_t name_count; /* kernels: extern "C" names or C++ name expressions */
} kiln__compile_request;

/* Compiles in this thread and this process. NVRTC's newer versions let a compile be stopped: then it ends early where
 * *cancel (may be NULL) becomes true or `seconds` (<= 0: no limit) are over. Results as kiln__compile_take(). */
kiln_status kiln__compile_here(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                               const atomic_bool *cancel, double seconds, kiln__unit *unit, uint64_t *ns,
                               kiln_error **error);
/* What kiln-worker runs: answers the requests that arrive on the socket `fd` until it closes. The exit status. With
 * `confine` the process can open nothing but the CUDA headers once NVRTC is loaded, where the system can do that. */
int kiln__worker_run(int fd, const char *nvrtc, const char *include, bool confine);
/* Starts a worker, asks it what confines it, and ends it. *how is the caller's to free (kiln__free). */
kiln_status kiln__worker_look(const kiln_allocator *mem, const char *worker, const kiln__nvrtc *nvrtc, bool *confined,
                              char **how, kiln_error **error);

typedef struct kiln__compiler kiln__compiler;
typedef struct kiln__compiler_options {
    const char *worker; /* program; NULL: compile here */
    const char *nvrtc;  /* path of the library for the workers, as kiln__nvrtc_path gave it */
    unsigned jobs;
    double timeout;  /* seconds a compile */
    uint64_t memory; /* bytes of address space that all workers may use together; 0: three quarters of what is
                        free */
    const kiln__log *log;
} kiln__compiler_options;
kiln_status kiln__compiler_open(const kiln_allocator *mem, const kiln__compiler_options *options, kiln__nvrtc *nvrtc,
                                kiln__compiler **compiler, kiln_error **error);
/* Ends running compiles and the workers. Every job must have been taken or cancelled. */
void kiln__compiler_close(kiln__compiler *compiler);
/* An eventfd to poll beside others: readable when a compile ended since it was last read. Whoever reads it first has it,
 * so two who wait on one compiler also look at their jobs from time to time. */
int kiln__compiler_ended(const kiln__compiler *compiler);

/* A compile under way. Any thread may start, poll and wait; a job belongs to one thread. */
typedef struct kiln__compile_job kiln__compile_job;
/* The request is copied. Workers take jobs in the order they were started. */
kiln_status kiln__compile_start(kiln__compiler *compiler, const kiln__compile_request *request, kiln__compile_job **job,
                                kiln_error **error);
bool kiln__compile_done(kiln__compile_job *job); /* never blocks */
/* Waits at most `seconds` (< 0: for ever). True if it is done. */
bool kiln__compile_wait(kiln__compile_job *job, double seconds);
/* Takes the result of a done job and frees the job. KILN_ERROR_COMPILE carries NVRTC's log; KILN_ERROR_TIMEOUT and a
 * crashed compiler are errors of their own. *ns is the time it took. On failure *unit is empty. */
kiln_status kiln__compile_take(kiln__compile_job *job, kiln__unit *unit, uint64_t *ns, kiln_error **error);
void kiln__compile_cancel(kiln__compile_job *job); /* frees a job that nobody will take; running: it ends unread */

/* Builds a unit out of parts, all of them in one block. */
kiln_status kiln__unit_make(const kiln_allocator *mem, const kiln__unit *parts, kiln__unit *unit, kiln_error **error);

/* Options that would write files, load plugins or read from where the engine cannot see are refused. */
kiln_status kiln__option_check(const kiln_allocator *mem, const char *option, kiln_error **error);

/* ---- logs ---- */

/* Adds a log of NVRTC to `text` as a reader wants it: without ptxas' statistics and control characters, cut after
 * 200 lines, and with the line of PTX beside messages of ptxas that only give its number. ptx may be NULL. */
void kiln__compile_log_format(kiln__text *text, const char *log, const char *ptx);
/* Bytes a thread that ptxas spills in the kernel `symbol`; false where the log does not say. */
bool kiln__compile_log_spills(const char *log, const char *symbol, int64_t *stores, int64_t *loads);

/* ---- what a cubin says of its kernels (libelf; no device) ---- */
typedef struct kiln__cubin_kernel {
    char symbol[256];
    int registers;
    uint64_t static_shared;       /* of the program; without what the system reserves since compute capability 9.0 */
    uint64_t local_bytes;         /* a thread: stack with the calls it makes, spills included */
    uint64_t constant_bytes;      /* bank 0 (parameters and launch data) and the compiler's own constants */
    uint64_t user_constant_bytes; /* __constant__ of the whole module */
    int max_threads;              /* of __launch_bounds__, 0: none */
    int barriers;                 /* of a block */
} kiln__cubin_kernel;
kiln_status kiln__cubin_kernels(const kiln_allocator *mem, const void *cubin, size_t length,
                                kiln__cubin_kernel **kernels, size_t *count, kiln_error **error);
/* Occupancy by the toolkit's cuda_occupancy.h. */
typedef struct kiln__occupancy {
    int blocks_per_sm;
    double occupancy;
    const char *limited_by;
} kiln__occupancy;
kiln_status kiln__occupancy_of(const kiln_allocator *mem, int arch, const kiln__cubin_kernel *kernel, unsigned threads,
                               uint64_t dynamic_shared, kiln__occupancy *occupancy, kiln_error **error);
#endif
