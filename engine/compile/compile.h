/* compile.h - NVRTC behind worker processes. Knows nothing of specs or tuning.
 *
 * NVRTC serialises inside one process, can hang and can crash, so compiles run in worker processes (the program
 * kiln-worker, started with posix_spawn, with a socket for messages). Each can read only CUDA's headers, and has limits
 * of time and memory. If no worker program is found, or the caller requests it, compiles run in this process, without
 * any of this (README.md). */
#ifndef KILN_COMPILE_H
#define KILN_COMPILE_H

#include <stdatomic.h>

#include "base.h"
#include "wire.h"
#include "cache.h" /* kiln__unit: the result of a compile */

/* ---- NVRTC by dlopen ---- */
/* The command that gets NVRTC and the headers where this build looks for them, for messages. A build for packages names
 * the folder (KILN_WHEELS): whoever installs a package does not have the sources. The version is that of
 * tools/cuda-wheels.txt, which the tests run with. */
#ifdef KILN_WHEELS
#define KILN__GET_NVRTC                                                                                                \
    "python3 -m pip install --target " KILN_WHEELS " nvidia-cuda-nvrtc~=13.0.0 nvidia-cuda-runtime~=13.0.0 "           \
    "nvidia-cuda-crt~=13.0.0 nvidia-cuda-cccl~=13.0.0"
#else
#define KILN__GET_NVRTC "tools/setup.sh"
#endif
typedef struct kiln__nvrtc kiln__nvrtc;
/* Looks for libnvrtc: $KILN_NVRTC, the one of the build, the loader's path, the toolkit's folder ($CUDA_HOME,
 * /usr/local/cuda), and versioned sonames, newest first. The message of KILN_ERROR_NO_COMPILER says what was tried and
 * what to do. */
kiln_status kiln__nvrtc_open(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* The same, but that a library whose version the names of its files tell is loaded at the first call that needs it. */
kiln_status kiln__nvrtc_find(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* Loads it now, if it is not. The others below do so where they must. Any thread. */
kiln_status kiln__nvrtc_load(kiln__nvrtc *nvrtc, kiln_error **error);
/* As kiln__nvrtc_open(), for one file and one folder of headers ("" or NULL: search for it), as returned by kiln__nvrtc_path() and
 * kiln__nvrtc_include(); for workers. */
kiln_status kiln__nvrtc_open_file(const kiln_allocator *mem, const char *path, const char *include, kiln__nvrtc **nvrtc,
                                  kiln_error **error);
void kiln__nvrtc_close(kiln__nvrtc *nvrtc);
int kiln__nvrtc_version(const kiln__nvrtc *nvrtc);      /* 13000 for 13.0 */
const char *kiln__nvrtc_path(const kiln__nvrtc *nvrtc); /* its file */
/* A text that changes whenever the output of the library may change: its version, size and mtime. Its headers have
 * digests. */
const char *kiln__nvrtc_identity(const kiln__nvrtc *nvrtc);
const char *kiln__nvrtc_include(const kiln__nvrtc *nvrtc); /* folder of the CUDA headers, "" if none was found */
/* A digest of the contents of CUDA's own headers that `names` (as in #include <NAME>) include, directly or not; "" if
 * none is a CUDA header. Each file is read once, and checked with stat() at each call. Without `fresh`, a digest that
 * is less than a second old is returned again. Any thread. */
kiln_status kiln__nvrtc_headers(kiln__nvrtc *nvrtc, const char *const *names, size_t count, bool fresh, char digest[33],
                                kiln_error **error);
/* Which of `words` (at most 64, else all) directives of these headers have: bit i is words[i]. Any thread. */
kiln_status kiln__nvrtc_mentions(kiln__nvrtc *nvrtc, const char *const *names, size_t count, const char *const *words,
                                 size_t word_count, uint64_t *found, kiln_error **error);
bool kiln__nvrtc_has(const kiln__nvrtc *nvrtc, const char *name); /* a header of CUDA's has that name */
/* The path of libcudadevrt.a, in the arena: beside NVRTC (which may be NULL), or in the toolkit's folder. NULL: not
 * found. */
const char *kiln__device_runtime(const kiln__nvrtc *nvrtc, kiln__arena *arena);
/* The architectures that it supports, ascending: 75, 80, ...; how many there are. 0: not known, or it cannot be
 * loaded. */
size_t kiln__nvrtc_archs(kiln__nvrtc *nvrtc, int *archs, size_t room);
bool kiln__nvrtc_has_arch(kiln__nvrtc *nvrtc, int arch); /* loads it for rare ones alone */

typedef struct kiln__include {
    const char *name, *text; /* `name` is what the text that includes it has behind #include */
    const char *path;        /* where it was found; NULL: Kiln has it itself, for one of the host's */
} kiln__include;

/* Where headers are. */
typedef struct kiln__include_paths {
    const char *const *folders; /* searched in this order, for "name" after the folder of the including file */
    size_t folder_count;
    const char *const *allowed; /* links resolved: what is read lies below one of these, wherever links lead */
    size_t allowed_count;
} kiln__include_paths;

/* What the compiler gets. Everything lives in the arena, but for a source that did not change. */
typedef struct kiln__includes {
    const char *source; /* the given text itself, or a copy where the name in an #include had to change */
    const kiln__include *items;
    size_t count;
    const char *const *others; /* names that were not found, each once: CUDA's headers, for kiln__nvrtc_headers() */
    size_t other_count;
} kiln__includes;

/* The project headers that `text` (of the file `path`) includes, directly or not, each once. Names that are not found
 * are left to the compiler. NVRTC identifies headers by the name in the #include alone, so where two files would have
 * one name, or one file two, a name is changed in the texts. Depth, count and bytes are limited
 * (KILN_ERROR_REFUSED). */
kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const kiln__include_paths *where, kiln__includes *includes, kiln_error **error);

/* The CUDA headers that the source includes before anything else. They live in the arena. */
kiln_status kiln__prelude_find(const kiln__nvrtc *nvrtc, kiln__arena *arena, const kiln__includes *includes,
                               const char *const **names, size_t *count, kiln_error **error);

typedef struct kiln__compile_request {
    const char *name;   /* of the source; for messages */
    const char *source; /* after template filling */
    /* So many bytes of the source are CUDA headers that may be compiled ahead; 0: none. `headers` is a digest of them
     * and of all others, `header_names` what it is asked for (kiln__nvrtc_headers()). */
    size_t prelude;
    const char *headers;
    const char *const *header_names;
    size_t header_name_count;
    const char *pch; /* a file of precompiled headers for the prelude; NULL: none */
    bool pch_make;   /* make that file, in place of using it */
    bool *pch_done;  /* NULL, or set: it was used or made */
    const kiln__include *includes;
    size_t include_count;
    const char *const *options;
    size_t option_count; /* without --gpu-architecture */
    int arch;            /* 90 */
    char kind;           /* 'a' for sm_90a, and so on (kiln__target) */
    bool cubin;          /* also machine code for sm_ARCH; PTX for compute_ARCH is always made */
    bool types;          /* names and messages alone: no code is made where NVRTC can do without. Not with `cubin` */
    const char *const *names;
    size_t name_count; /* kernels: extern "C" names or C++ name expressions */
} kiln__compile_request;

/* Compiles in this thread and process. With newer versions of NVRTC the compile ends early when *cancel (may be NULL)
 * becomes true or `seconds` (<= 0: no limit) have passed. Results as of kiln__compile_take(). */
kiln_status kiln__compile_here(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                               const atomic_bool *cancel, double seconds, kiln__unit *unit, uint64_t *ns,
                               kiln_error **error);
/* The main loop of kiln-worker: answers the requests that arrive on the socket `fd` until it closes. Returns the exit
 * status. With `confine`, if the system supports it, the process can open only the CUDA headers once NVRTC is
 * loaded. `pch`: the folder of precompiled headers that it may use or, with `pch_makes`, write to; NULL: none. */
int kiln__worker_run(int fd, const char *nvrtc, const char *include, const char *pch, bool pch_makes, bool confine);
/* Removes the precompiled headers that were made first until the rest of the folder takes at most `most` bytes. */
void kiln__pch_collect(const char *folder, uint64_t most);
/* Starts a worker, asks it how it is confined, and ends it. The caller frees *how (kiln__free). */
kiln_status kiln__worker_look(const kiln_allocator *mem, const char *worker, const kiln__nvrtc *nvrtc, bool *confined,
                              char **how, kiln_error **error);

typedef struct kiln__compiler kiln__compiler;
typedef struct kiln__compile_place { /* another machine that compiles too */
    const kiln__place *place;
    unsigned jobs; /* at once */
} kiln__compile_place;

typedef struct kiln__compiler_options {
    const char *worker; /* program; NULL: compile in this process */
    const char *nvrtc;  /* path of the library for the workers, from kiln__nvrtc_path() */
    const char *pch;    /* a folder for precompiled headers, made if its own folder is there; NULL: none */
    unsigned jobs;
    double timeout;  /* seconds per compile */
    uint64_t memory; /* bytes of address space that all workers may use together; 0: three quarters of what is free */
    const kiln__log *log;
    const kiln__compile_place
        *places; /* used besides this machine, where there is a worker; they outlive the compiler */
    size_t place_count;
} kiln__compiler_options;
kiln_status kiln__compiler_open(const kiln_allocator *mem, const kiln__compiler_options *options, kiln__nvrtc *nvrtc,
                                kiln__compiler **compiler, kiln_error **error);
/* Ends running compiles and the workers. Every job must have been taken or cancelled. */
void kiln__compiler_close(kiln__compiler *compiler);
/* An eventfd to poll: readable if a compile has ended since it was last read. The first reader clears it, so two
 * threads that wait on one compiler must also check their jobs from time to time. */
int kiln__compiler_ended(const kiln__compiler *compiler);
/* So that something else can have the machine to itself: jobs that wait in the queue are not started until the release;
 * those that are begun meanwhile are. Calls may nest. Quiet: nothing compiles, and no job is about to be retried. */
void kiln__compiler_hold(kiln__compiler *compiler);
void kiln__compiler_release(kiln__compiler *compiler);
bool kiln__compiler_is_quiet(kiln__compiler *compiler);

/* A running compile. Any thread may start, poll and wait; a job belongs to one thread. */
typedef struct kiln__compile_job kiln__compile_job;
/* The request is copied. Workers take jobs in the order they were started. A request that is the same as one under way
 * is not compiled again; its job gets a copy of the result, with a time of 0. */
kiln_status kiln__compile_start(kiln__compiler *compiler, const kiln__compile_request *request, kiln__compile_job **job,
                                kiln_error **error);
bool kiln__compile_done(kiln__compile_job *job); /* never blocks */
/* Waits at most `seconds` (< 0: no limit). True if it is done. */
bool kiln__compile_wait(kiln__compile_job *job, double seconds);
/* Takes the result of a done job and frees the job. KILN_ERROR_COMPILE carries NVRTC's log; KILN_ERROR_TIMEOUT and a
 * crashed compiler are errors of their own. *ns is the time it took. On failure *unit is empty. */
kiln_status kiln__compile_take(kiln__compile_job *job, kiln__unit *unit, uint64_t *ns, kiln_error **error);
void kiln__compile_cancel(kiln__compile_job *job); /* frees a job without its result; a running one is ended */

/* Creates a unit with copies of the parts, in one allocation. */
kiln_status kiln__unit_make(const kiln_allocator *mem, const kiln__unit *parts, kiln__unit *unit, kiln_error **error);

/* Refuses options that would write files, load plugins or read files that the engine does not know of. */
kiln_status kiln__option_check(const kiln_allocator *mem, const char *option, kiln_error **error);

/* ---- logs ---- */

/* Adds a log of NVRTC to `text` for a person: without ptxas' statistics and control characters, limited to 200 lines,
 * and with the line of PTX after messages of ptxas that only have its number. ptx may be NULL. */
void kiln__compile_log_format(kiln__text *text, const char *log, const char *ptx);
/* The next finding behind *at: how ptxas says that it serialised wgmma (C7509 to C7520), as "C7510: ...", in `arena`;
 * NULL: no more. *at starts at the log. */
const char *kiln__compile_log_finding(kiln__arena *arena, const char **at);
/* Bytes per thread that ptxas spills in the kernel `symbol`; false if the log does not have them. */
bool kiln__compile_log_spills(const char *log, const char *symbol, int64_t *stores, int64_t *loads);

/* ---- data about kernels in a cubin (libelf; no device) ---- */
typedef struct kiln__cubin_kernel {
    char symbol[256];
    int registers;
    uint64_t static_shared;       /* without what the system reserves since compute capability 9.0 */
    uint64_t local_bytes;         /* per thread: stack, also of called functions, and spills */
    uint64_t constant_bytes;      /* bank 0 (parameters and launch data) and the compiler's own constants */
    uint64_t user_constant_bytes; /* __constant__ of the whole module */
    int max_threads;              /* of __launch_bounds__, 0: none */
    int barriers;                 /* per block */
} kiln__cubin_kernel;
kiln_status kiln__cubin_kernels(const kiln_allocator *mem, const void *cubin, size_t length,
                                kiln__cubin_kernel **kernels, size_t *count, kiln_error **error);
bool kiln__is_relocatable(const void *cubin, size_t length); /* it is to be linked; false also for what is no cubin */
/* Occupancy, computed by the toolkit's cuda_occupancy.h. */
typedef struct kiln__occupancy {
    int blocks_per_sm;
    double occupancy;
    const char *limited_by;
} kiln__occupancy;
kiln_status kiln__occupancy_of(const kiln_allocator *mem, int arch, const kiln__cubin_kernel *kernel, unsigned threads,
                               uint64_t dynamic_shared, kiln__occupancy *occupancy, kiln_error **error);
#endif
