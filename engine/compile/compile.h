/* compile.h - NVRTC behind worker processes. This room knows nothing about specs or tuning.
 *
 * In one process NVRTC runs only one compile at a time, and it can hang or crash. So compiles run in worker
 * processes: the program kiln-worker, started with posix_spawn, exchanges messages over a socket. A worker can read
 * only CUDA's headers, and has limits of time and memory. If no worker program is found, or the caller wants none,
 * compiles run in this process without these limits (README.md). */
#ifndef KILN_COMPILE_H
#define KILN_COMPILE_H

#include <stdatomic.h>

#include "base.h"
#include "wire.h"
#include "cache.h" /* kiln__unit: the result of a compile */

/* ---- NVRTC by dlopen ---- */
/* For messages: the command that installs NVRTC and the headers where this build looks for them. A build for packages
 * names the folder (KILN_WHEELS), because a user of a package does not have the sources. The version is the one in
 * tools/cuda-wheels.txt, with which the tests run. */
#ifdef KILN_WHEELS
#define KILN__GET_NVRTC                                                                                                \
    "python3 -m pip install --target " KILN_WHEELS " nvidia-cuda-nvrtc~=13.0.0 nvidia-cuda-runtime~=13.0.0 "           \
    "nvidia-cuda-crt~=13.0.0 nvidia-cuda-cccl~=13.0.0"
#else
#define KILN__GET_NVRTC "tools/setup.sh"
#endif
typedef struct kiln__nvrtc kiln__nvrtc;
/* Opens the library that $KILN_NVRTC names. If that variable is not set, searches this build's own toolkit, the
 * folders near this library, the loader's path, and the toolkit's folder ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda,
 * /usr/lib/cuda). In each place the newest version is tried first. The caller closes *nvrtc. The message of
 * KILN_ERROR_NO_COMPILER lists the files that failed, and the remedy. */
kiln_status kiln__nvrtc_open(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* Finds the library as kiln__nvrtc_open() does, but may postpone loading it. If the names of the files tell the
 * version of a library, that library is loaded at the first call that needs it. */
kiln_status kiln__nvrtc_find(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* Loads the library now if it is not loaded. The functions below call this one if they need the library. Any thread
 * may call it. */
kiln_status kiln__nvrtc_load(kiln__nvrtc *nvrtc, kiln_error **error);
/* Opens the library `path` with the headers in the folder `include`. A worker gets both from the process that started
 * it, where kiln__nvrtc_path() and kiln__nvrtc_include() returned them. If `include` is "" or NULL, this function
 * searches for the folder. */
kiln_status kiln__nvrtc_open_file(const kiln_allocator *mem, const char *path, const char *include, kiln__nvrtc **nvrtc,
                                  kiln_error **error);
void kiln__nvrtc_close(kiln__nvrtc *nvrtc);
int kiln__nvrtc_version(const kiln__nvrtc *nvrtc);      /* 13000 for 13.0 */
const char *kiln__nvrtc_path(const kiln__nvrtc *nvrtc); /* the path of the library */
/* A text that changes whenever the output of the library may change: version, size and time of the files. The headers
 * have digests of their own. */
const char *kiln__nvrtc_identity(const kiln__nvrtc *nvrtc);
const char *kiln__nvrtc_include(const kiln__nvrtc *nvrtc); /* folder of the CUDA headers, or "" if none was found */
/* Computes a digest of the contents of CUDA's own headers that `names` (as in #include <NAME>) reach, directly or
 * indirectly. The digest is "" if no name is a CUDA header. Each file is read once, and again if stat() shows that it
 * changed. Without `fresh`, the last digest is returned again if it is for the same names and at most a second old.
 * Any thread may call the function. */
kiln_status kiln__nvrtc_headers(kiln__nvrtc *nvrtc, const char *const *names, size_t count, bool fresh, char digest[33],
                                kiln_error **error);
/* Finds which of `words` occur in directives of these headers: bit i of *found belongs to words[i]. All bits are set if
 * `count` is 0, if the CUDA headers were not found, or if there are more than 64 words. A bit may be set for a word
 * that does not occur (equal hash, or a header that includes by a macro). The answer may be a second old. Any thread
 * may call the function.
 */
kiln_status kiln__nvrtc_mentions(kiln__nvrtc *nvrtc, const char *const *names, size_t count, const char *const *words,
                                 size_t word_count, uint64_t *found, kiln_error **error);
bool kiln__nvrtc_has(const kiln__nvrtc *nvrtc, const char *name); /* returns true if a CUDA header has that name */
/* Returns the path of libcudadevrt.a, in the arena, or NULL if it is not found. It is searched beside NVRTC (which
 * may be NULL) and in the toolkit's folder. */
const char *kiln__device_runtime(const kiln__nvrtc *nvrtc, kiln__arena *arena);
/* Writes at most `room` of the supported architectures in ascending order (75, 80, ...), and returns the number of
 * all. Returns 0 if they are unknown or the library cannot be loaded. */
size_t kiln__nvrtc_archs(kiln__nvrtc *nvrtc, int *archs, size_t room);
bool kiln__nvrtc_has_arch(kiln__nvrtc *nvrtc, int arch); /* loads the library only for rare architectures */

/* A header for the compiler. */
typedef struct kiln__include {
    const char *name, *text; /* `name` is the text after #include */
    const char *path;        /* path of the header; NULL means that Kiln provides this header instead of a host
                              * header */
} kiln__include;

/* The places where headers may lie. */
typedef struct kiln__include_paths {
    /* searched in this order; an #include "name" first searches the folder of the file that contains it */
    const char *const *folders;
    size_t folder_count;
    /* folders with links resolved: a file must lie below one of them after its own links are resolved */
    const char *const *allowed;
    size_t allowed_count;
} kiln__include_paths;

/* The texts that the compiler gets. All texts live in the arena, except a source that was not changed. */
typedef struct kiln__includes {
    const char *source; /* the given text, or a copy in which the name of an #include was changed */
    const kiln__include *items;
    size_t count;
    /* the names after #include that were not found, and the names that __has_include() tests, each once. Most of these
     * names are CUDA's headers; kiln__nvrtc_headers() takes this list */
    const char *const *others;
    size_t other_count;
} kiln__includes;

/* Collects the project headers that `text` (of the file `path`) includes, directly or indirectly, each once. Names
 * that are not found are left to the compiler. NVRTC identifies a header by the name in the #include alone. So if two
 * files have the same name, or one file has two names, a name is changed in the texts. KILN_ERROR_REFUSED: the
 * headers exceed the limits of depth, number or bytes, a header is outside `allowed`, or a directive does not tell
 * which file it reads (#embed, import, an unknown macro). */
kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const kiln__include_paths *where, kiln__includes *includes, kiln_error **error);

/* Finds the prelude: the CUDA headers that the source includes before anything else. The names live in the arena. */
kiln_status kiln__prelude_find(const kiln__nvrtc *nvrtc, kiln__arena *arena, const kiln__includes *includes,
                               const char *const **names, size_t *count, kiln_error **error);

/* A macro that the caller defines for the source. */
typedef struct kiln__prelude_macro {
    const char *name, *value;
} kiln__prelude_macro;
/* Writes the prelude: an #include for each of `headers`. The macros that directives of these headers mention are
 * written before the headers, and their bits are set in *first. The caller writes all other macros after the prelude.
 * If there are more than 64 macros, this function writes nothing, not even the headers. */
kiln_status kiln__prelude_write(kiln__nvrtc *nvrtc, const char *const *headers, size_t header_count,
                                const kiln__prelude_macro *macros, size_t count, kiln__text *source, uint64_t *first,
                                kiln_error **error);

/* A request for one compile. All texts belong to the caller; kiln__compile_start() copies them. */
typedef struct kiln__compile_request {
    const char *name;   /* name of the source, for messages */
    const char *source; /* the text, with all macros defined */
    /* The number of bytes at the start of the source that are CUDA headers and may be precompiled; 0 means none.
     * `headers` is the digest of the prelude's headers and all other CUDA headers of the source. `header_names` are the
     * names of all these headers. */
    size_t prelude;
    const char *headers;
    const char *const *header_names;
    size_t header_name_count;
    bool again;      /* the caller compiles this prelude several times, so the first request precompiles it */
    const char *pch; /* file of precompiled headers for the prelude; NULL means no file */
    bool pch_make;   /* make that file instead of using it */
    bool *pch_done;  /* set to whether the file was used or made; may be NULL */
    const kiln__include *includes;
    size_t include_count;
    const char *const *options;
    size_t option_count; /* options of the spec, without --gpu-architecture */
    int arch;            /* 90 */
    char kind;           /* letter of the target: 'a' for sm_90a (kiln__target); '\0': no letter */
    bool cubin;          /* make machine code for sm_ARCH too; PTX for compute_ARCH is always made */
    /* Only names and messages are wanted. If NVRTC can omit the code, it makes none, except with precompiled headers,
     * which save more time. `cubin` must be false. */
    bool types;
    const char *const *names;
    size_t name_count; /* names of kernels: extern "C" names or C++ name expressions */
    /* The pool may compile this request together with waiting requests that differ only in `names`. The code then has
     * the kernels of all of them. */
    bool together;
} kiln__compile_request;

/* Compiles in this thread and process. With NVRTC 12.8 or later the compile ends early when *cancel (may be NULL)
 * becomes true, or after `seconds` (<= 0: no limit). The caller frees *unit. A failure does not change *unit. If
 * NVRTC cannot be loaded or cannot serve the request, *ns is not set. `ns` may be NULL. */
kiln_status kiln__compile_here(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                               const atomic_bool *cancel, double seconds, kiln__unit *unit, uint64_t *ns,
                               kiln_error **error);
/* The main loop of kiln-worker: answers requests from the socket `fd` until it closes, and returns the exit status.
 * With `confine` the process can open only the CUDA headers once NVRTC is loaded, if the system supports that. `pch`:
 * the folder of precompiled headers that it may read or, with `pch_makes`, write; NULL means none. */
int kiln__worker_run(int fd, const char *nvrtc, const char *include, const char *pch, bool pch_makes, bool confine);
/* Removes the oldest precompiled headers until fewer than 64 files are left and these take at most `most` bytes. */
void kiln__pch_collect(const char *folder, uint64_t most);
/* Starts a worker, asks it how it is confined, and ends it. The caller frees *how (kiln__free). */
kiln_status kiln__worker_look(const kiln_allocator *mem, const char *worker, const kiln__nvrtc *nvrtc, bool *confined,
                              char **how, kiln_error **error);

typedef struct kiln__compiler kiln__compiler;
typedef struct kiln__compile_place { /* another machine that compiles for this pool */
    const kiln__place *place;
    unsigned jobs; /* number of compiles at a time */
} kiln__compile_place;

/* Options of a pool. The pool copies all texts and `log`; `places` must outlive the pool. */
typedef struct kiln__compiler_options {
    /* path of kiln-worker. If it is NULL or cannot be executed, compiles run in this process, one at a time */
    const char *worker;
    const char *nvrtc; /* path of the library for workers; NULL means kiln__nvrtc_path() of the pool's NVRTC */
    const char *pch;   /* folder of precompiled headers, which is created if its parent exists; NULL means no folder */
    unsigned jobs;     /* number of workers; 0 means one for each core. Little memory means fewer workers */
    double timeout;    /* seconds for one compile; <= 0: no limit */
    uint64_t memory;   /* bytes of address space that all workers share; 0 means three quarters of the free memory */
    const kiln__log *log;
    const kiln__compile_place *places; /* machines in addition to this one; not used without a worker */
    size_t place_count;
} kiln__compiler_options;
kiln_status kiln__compiler_open(const kiln_allocator *mem, const kiln__compiler_options *options, kiln__nvrtc *nvrtc,
                                kiln__compiler **compiler, kiln_error **error);
/* Ends running compiles and workers, and joins all threads. Every job must have been taken or cancelled before. */
void kiln__compiler_close(kiln__compiler *compiler);
/* Returns an eventfd for poll(), which is readable if a compile has ended since the last read. A read clears it for
 * all threads. So if two threads wait for one pool, both must also check their jobs from time to time. */
int kiln__compiler_ended(const kiln__compiler *compiler);
/* Gives the machine to something else, for example a measurement. Jobs that wait in the queue are not started until
 * the release; jobs that are requested during the hold are started. Calls may nest. The pool is quiet if nothing
 * compiles and no job waits for a retry. */
void kiln__compiler_hold(kiln__compiler *compiler);
void kiln__compiler_release(kiln__compiler *compiler);
bool kiln__compiler_is_quiet(kiln__compiler *compiler);

/* A requested compile. Different threads may have jobs in one pool, but only one thread at a time uses a job. */
typedef struct kiln__compile_job kiln__compile_job;
/* Queues a compile; the request is copied. Workers take jobs in the order of requests. If an equal request waits or
 * runs, the new job is not compiled: it gets a copy of that result, with a time of 0. */
kiln_status kiln__compile_start(kiln__compiler *compiler, const kiln__compile_request *request, kiln__compile_job **job,
                                kiln_error **error);
bool kiln__compile_done(kiln__compile_job *job); /* never blocks */
/* Waits at most `seconds` (< 0: no limit). Returns whether the job is done. */
bool kiln__compile_wait(kiln__compile_job *job, double seconds);
/* Waits for the result, takes it and frees the job. KILN_ERROR_COMPILE carries NVRTC's log; KILN_ERROR_TIMEOUT and a
 * crashed compiler have their own messages. *ns is the time of the compile. On failure *unit is empty. */
kiln_status kiln__compile_take(kiln__compile_job *job, kiln__unit *unit, uint64_t *ns, kiln_error **error);
/* Returns false while the job, or the equal job whose result it will get, waits in the queue. */
bool kiln__compile_begun(kiln__compile_job *job);
/* Gives up a job, which the caller must not use any more. A running compile continues, and its result is dropped.
 * NULL is allowed. */
void kiln__compile_cancel(kiln__compile_job *job);

/* Makes a unit with copies of the parts, in one allocation that kiln__unit_free() frees. A part of 0 bytes becomes
 * NULL. */
kiln_status kiln__unit_make(const kiln_allocator *mem, const kiln__unit *parts, kiln__unit *unit, kiln_error **error);

/* Refuses options that write files, load plug-ins, or read files that the engine does not know. */
kiln_status kiln__option_check(const kiln_allocator *mem, const char *option, kiln_error **error);

/* ---- logs ---- */

/* Adds a log of NVRTC to `text` for a person: without statistics of ptxas and control characters, and with at most
 * 200 lines. After a message of ptxas that only has a line number it shows that line of PTX. `ptx` may be NULL. */
void kiln__compile_log_format(kiln__text *text, const char *log, const char *ptx);
/* ptxas tells in the messages C7509 to C7520 that it serialises wgmma instructions. The function returns the next such
 * message after *at, in `arena`, such as "C7510: ...", or NULL after the last message. Before the first call *at is the
 * log. */
const char *kiln__compile_log_finding(kiln__arena *arena, const char **at);
/* Reads the bytes of spills per thread of the kernel `symbol`. Returns false if the log does not contain them. */
bool kiln__compile_log_spills(const char *log, const char *symbol, int64_t *stores, int64_t *loads);

/* ---- data about kernels in a cubin (libelf; no device) ---- */
typedef struct kiln__cubin_kernel {
    char symbol[256];
    int registers;
    uint64_t static_shared;       /* bytes, without the part that the system reserves since compute capability 9.0 */
    uint64_t local_bytes;         /* per thread: stack, including called functions, and spills */
    uint64_t constant_bytes;      /* bank 0 (parameters and launch data) and the compiler's own constants */
    uint64_t user_constant_bytes; /* __constant__ of the whole module */
    int max_threads;              /* maximum of __launch_bounds__; 0 means that the kernel has no launch bounds */
    int barriers;                 /* per block */
    int tensor_columns; /* columns of tensor memory per block; 0 or less: none, or not known, because a cubin does not
                         * tell */
} kiln__cubin_kernel;
kiln_status kiln__cubin_kernels(const kiln_allocator *mem, const void *cubin, size_t length,
                                kiln__cubin_kernel **kernels, size_t *count, kiln_error **error);
/* Returns true if the cubin must still be linked. Returns false if it need not, and if the bytes are no cubin. */
bool kiln__is_relocatable(const void *cubin, size_t length);
/* Occupancy, computed by the toolkit's cuda_occupancy.h. */
typedef struct kiln__occupancy {
    int blocks_per_sm;
    double occupancy;
    /* A static text: "registers", "shared memory", "tensor memory", "threads", "blocks", "barriers", "nothing". */
    const char *limited_by;
} kiln__occupancy;
/* Computes the occupancy of blocks of `threads` threads with `dynamic_shared` bytes. A kernel that needs more
 * registers or shared memory than any device has gets 0 blocks. Returns KILN_ERROR_UNSUPPORTED if the limits of
 * `arch` are not known. */
kiln_status kiln__occupancy_of(const kiln_allocator *mem, int arch, const kiln__cubin_kernel *kernel, unsigned threads,
                               uint64_t dynamic_shared, kiln__occupancy *occupancy, kiln_error **error);
#endif
