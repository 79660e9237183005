/* compile.h - compiles with NVRTC in worker processes. The functions know nothing about specs or tuning.
 *
 * In one process NVRTC performs only one compile at a time, and NVRTC can hang or crash. So compiles run in worker
 * processes. A worker is the program kiln-worker, started with posix_spawn, which exchanges messages over a socket. A
 * worker can read only CUDA's headers, and has limits of time and memory. If no worker program is found, or if the
 * caller wants no workers, compiles run in this process without these limits (README.md). */
#ifndef KILN_COMPILE_H
#define KILN_COMPILE_H

#include <stdatomic.h>

#include "base.h"
#include "wire.h"
#include "cache.h" /* declares kiln__unit, the result of a compile */

/* ---- NVRTC by dlopen ---- */
/* The command that installs NVRTC and the headers where this build looks for them. Messages show this command. A build
 * for packages names the folder (KILN_WHEELS), because a user of a package has no sources of Kiln. The command installs
 * the version in tools/cuda-wheels.txt, with which Kiln's tests run. */
#ifdef KILN_WHEELS
#define KILN__GET_NVRTC                                                                                                \
    "python3 -m pip install --target " KILN_WHEELS " nvidia-cuda-nvrtc~=13.0.0 nvidia-cuda-runtime~=13.0.0 "           \
    "nvidia-cuda-crt~=13.0.0 nvidia-cuda-cccl~=13.0.0"
#else
#define KILN__GET_NVRTC "tools/setup.sh"
#endif
typedef struct kiln__nvrtc kiln__nvrtc;
/* Opens the library that $KILN_NVRTC names. If that variable is not set, searches this build's own toolkit, the folders
 * near this library, the loader's path, and the toolkit's folder ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda,
 * /usr/lib/cuda). In each place it tries the newest version first. The caller closes *nvrtc. The message of
 * KILN_ERROR_NO_COMPILER lists the files that failed, and the remedy. */
kiln_status kiln__nvrtc_open(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* Finds the library as kiln__nvrtc_open() does, but may postpone loading it. If the names of its files tell the version
 * of a library, the library is loaded only when a function needs it. */
kiln_status kiln__nvrtc_find(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error);
/* Loads the library if it is not loaded yet. The functions below call kiln__nvrtc_load() if they need the library. Any
 * thread may call kiln__nvrtc_load(). */
kiln_status kiln__nvrtc_load(kiln__nvrtc *nvrtc, kiln_error **error);
/* Opens the library `path` with the headers in the folder `include`. A worker gets both arguments from the process that
 * started it, where kiln__nvrtc_path() and kiln__nvrtc_include() returned them. If `include` is "" or NULL, the
 * function searches for the folder of the headers. */
kiln_status kiln__nvrtc_open_file(const kiln_allocator *mem, const char *path, const char *include, kiln__nvrtc **nvrtc,
                                  kiln_error **error);
void kiln__nvrtc_close(kiln__nvrtc *nvrtc);
int kiln__nvrtc_version(const kiln__nvrtc *nvrtc);      /* 13000 for 13.0 */
const char *kiln__nvrtc_path(const kiln__nvrtc *nvrtc); /* returns the path of the library */
/* Returns a text that changes whenever the output of the library may change: the version, and the sizes and times of
 * the files. The text does not cover the headers, because they have digests of their own. */
const char *kiln__nvrtc_identity(const kiln__nvrtc *nvrtc);
/* returns the folder of the CUDA headers, or "" if none was found */
const char *kiln__nvrtc_include(const kiln__nvrtc *nvrtc);
/* Computes a digest of CUDA's own headers that `names` (as in #include <NAME>) reach, directly or indirectly. The
 * digest is "" if no name is a CUDA header. The function reads each file once, and reads it again if stat() shows that
 * it changed. If `fresh` is false, the function may return the last digest: the names must be the same, and the digest
 * at most a second old. Any thread may call the function. */
kiln_status kiln__nvrtc_headers(kiln__nvrtc *nvrtc, const char *const *names, size_t count, bool fresh, char digest[33],
                                kiln_error **error);
/* Finds which of `words` occur in directives of the CUDA headers that `names` reach. Bit i of *found belongs to
 * words[i]. The function sets all bits if `count` is 0, if the CUDA headers were not found, or if there are more than
 * 64 words. The bit of a word that does not occur may be set too, because of an equal hash, or because of a header that
 * includes by a macro. The function may return an answer that is a second old. Any thread may call the function.
 */
kiln_status kiln__nvrtc_mentions(kiln__nvrtc *nvrtc, const char *const *names, size_t count, const char *const *words,
                                 size_t word_count, uint64_t *found, kiln_error **error);
bool kiln__nvrtc_has(const kiln__nvrtc *nvrtc, const char *name); /* returns true if a CUDA header has that name */
/* Returns the path of libcudadevrt.a in the arena, or NULL if the file is not found. The function searches beside NVRTC
 * (`nvrtc` may be NULL) and in the toolkit's folder. */
const char *kiln__device_runtime(const kiln__nvrtc *nvrtc, kiln__arena *arena);
/* Writes at most `room` of the supported architectures (75, 80, ...) in ascending order, and returns the number of all
 * supported architectures. Returns 0 if the architectures are unknown or the library cannot be loaded. */
size_t kiln__nvrtc_archs(kiln__nvrtc *nvrtc, int *archs, size_t room);
/* returns whether NVRTC supports `arch`; loads the library only for rare architectures */
bool kiln__nvrtc_has_arch(kiln__nvrtc *nvrtc, int arch);

/* A header for the compiler. */
typedef struct kiln__include {
    const char *name, *text; /* `name` is the text between the quotes or brackets of the #include */
    /* path of the file, or NULL if Kiln provides this header instead of a header of the host */
    const char *path;
} kiln__include;

/* The folders in which headers may lie. */
typedef struct kiln__include_paths {
    /* folders that are searched in this order; an #include "name" first searches the folder of the file that contains
     * it */
    const char *const *folders;
    size_t folder_count;
    /* folders with their links resolved: a header must lie below one of them after the header's own links are
     * resolved */
    const char *const *allowed;
    size_t allowed_count;
} kiln__include_paths;

/* The texts that the compiler gets. The arena holds all texts, except a source that was not changed. */
typedef struct kiln__includes {
    const char *source; /* the given text, or a copy in which the name of an #include was changed */
    const kiln__include *items;
    size_t count;
    /* names in #include directives that were not found, and names that __has_include() tests, each name once. Most of
     * these names are CUDA's headers. kiln__nvrtc_headers() takes this list */
    const char *const *others;
    size_t other_count;
} kiln__includes;

/* Collects the project headers that `text` (of the file `path`) includes, directly or indirectly, each once. If a name
 * is not found, NVRTC searches for it. NVRTC identifies a header by the name in the #include alone. So if two files
 * have the same name, or one file has two names, the function changes a name in the texts. Returns KILN_ERROR_REFUSED
 * if the headers exceed the limits of depth, number or bytes, or if a header is outside `allowed`. Also returns it if a
 * directive does not tell which file it reads (#embed, import, a macro without one clear definition). If the texts do
 * not define a macro at all, the function mostly writes a name that no file has (includes.c). */
kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const kiln__include_paths *where, kiln__includes *includes, kiln_error **error);

/* Finds the prelude: the CUDA headers that the source includes before anything else. The arena holds the names. */
kiln_status kiln__prelude_find(const kiln__nvrtc *nvrtc, kiln__arena *arena, const kiln__includes *includes,
                               const char *const **names, size_t *count, kiln_error **error);

/* A macro that the caller defines for the source. */
typedef struct kiln__prelude_macro {
    const char *name, *value;
} kiln__prelude_macro;
/* Lets the macros replace the values that the source and its project headers give to the same names: `#define TILE 16`
 * or `constexpr int TILE = 16;`. Edits the texts of `includes`, so that each text is the same for all values. If a text
 * has a constant of a name, the function changes the name of the macro to a name that the constant refers to. A name
 * keeps all its definitions if the function does not surely understand each of them. For example, a directive tests the
 * name or undefines it, or the host's code may have a constant of the name. If no text changes, `includes` keeps the
 * same pointers to the texts. */
kiln_status kiln__definitions_replace(const kiln_allocator *mem, kiln__arena *arena, kiln__includes *includes,
                                      kiln__prelude_macro *macros, size_t count, kiln_error **error);
/* Writes the prelude: an #include for each of `headers`. If a directive of these headers mentions a macro, the function
 * writes the macro before the headers, and sets its bit in *first. The caller writes all other macros after the
 * prelude. If there are more than 64 macros, this function writes nothing, not even the headers. */
kiln_status kiln__prelude_write(kiln__nvrtc *nvrtc, const char *const *headers, size_t header_count,
                                const kiln__prelude_macro *macros, size_t count, kiln__text *source, uint64_t *first,
                                kiln_error **error);

/* A request for one compile. The caller owns all texts. kiln__compile_start() copies them. */
typedef struct kiln__compile_request {
    const char *name;   /* name of the source that messages show */
    const char *source; /* text of the source, with all macros defined */
    /* Number of bytes at the start of the source that include only CUDA headers and may be precompiled, or 0. `headers`
     * is the digest of the prelude's headers and all other CUDA headers of the source. `header_names` are the names of
     * all these headers. */
    size_t prelude;
    const char *headers;
    const char *const *header_names;
    size_t header_name_count;
    bool again;      /* the caller compiles this prelude several times, so the first request precompiles the prelude */
    const char *pch; /* file of precompiled headers for the prelude, or NULL */
    bool pch_make;   /* NVRTC shall make the file `pch` instead of using it */
    bool *pch_done;  /* receives whether NVRTC used or made the file `pch`; may be NULL */
    const kiln__include *includes;
    size_t include_count;
    const char *const *options;
    size_t option_count; /* options of the spec, without --gpu-architecture */
    int arch;            /* 90 */
    /* letter of the target, such as 'a' for sm_90a (kiln__target), or '\0' if the target has no letter */
    char kind;
    bool cubin; /* make machine code for sm_ARCH in addition to the PTX for compute_ARCH */
    /* The caller wants only names and messages. If NVRTC can omit the code, NVRTC makes no code. With precompiled
     * headers, which save more time, it makes code nevertheless. `cubin` must be false. */
    bool types;
    const char *const *names;
    size_t name_count; /* names of kernels: names of extern "C" functions, or C++ name expressions */
    /* The pool may compile this request together with waiting requests that differ only in `names`. The code of the
     * result then contains the kernels of all these requests. */
    bool together;
} kiln__compile_request;

/* Compiles in this thread and process. With NVRTC 12.8 or later the compile ends early when *cancel becomes true, or
 * after `seconds` (no limit if `seconds` <= 0). `cancel` may be NULL. The caller frees *unit. If the compile fails,
 * *unit does not change. If NVRTC cannot be loaded or cannot serve the request, the function does not set *ns. `ns` may
 * be NULL. */
kiln_status kiln__compile_here(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                               const atomic_bool *cancel, double seconds, kiln__unit *unit, uint64_t *ns,
                               kiln_error **error);
/* The main loop of kiln-worker: answers requests from the socket `fd` until the socket closes, and returns the exit
 * status of the process. With `confine` the process can open only the CUDA headers after it has loaded NVRTC, if the
 * system supports that. `pch` is the folder of precompiled headers that the process may read and, with `pch_makes`,
 * write. It is NULL if there is no such folder. */
int kiln__worker_run(int fd, const char *nvrtc, const char *include, const char *pch, bool pch_makes, bool confine);
/* Removes the oldest files of precompiled headers until fewer than 64 files are left and these files take at most
 * `most` bytes. */
void kiln__pch_collect(const char *folder, uint64_t most);
/* Starts a worker, asks the worker how it is confined, and ends the worker. The caller frees *how (kiln__free). */
kiln_status kiln__worker_look(const kiln_allocator *mem, const char *worker, const kiln__nvrtc *nvrtc, bool *confined,
                              char **how, kiln_error **error);

typedef struct kiln__compiler kiln__compiler;
typedef struct kiln__compile_place { /* another machine that compiles for this pool */
    const kiln__place *place;
    unsigned jobs; /* number of compiles that the machine performs at a time */
} kiln__compile_place;

/* Options of a pool. The pool copies all texts and `log`. `places` must exist until the pool is closed. */
typedef struct kiln__compiler_options {
    /* path of kiln-worker. If it is NULL or cannot be executed, compiles run in this process, one at a time */
    const char *worker;
    /* path of the NVRTC library that workers load, or NULL for kiln__nvrtc_path() of the pool's NVRTC */
    const char *nvrtc;
    /* folder of precompiled headers, which the pool creates if its parent exists, or NULL for no precompiled headers */
    const char *pch;
    /* number of workers, or 0 for one worker per core. If memory is short, the pool starts fewer workers */
    unsigned jobs;
    double timeout;  /* time limit of one compile in seconds; a value <= 0 means no limit */
    uint64_t memory; /* bytes of address space that all workers share, or 0 for three quarters of the free memory */
    const kiln__log *log;
    /* machines that compile in addition to this machine; the pool ignores them if compiles run in this process */
    const kiln__compile_place *places;
    size_t place_count;
} kiln__compiler_options;
kiln_status kiln__compiler_open(const kiln_allocator *mem, const kiln__compiler_options *options, kiln__nvrtc *nvrtc,
                                kiln__compiler **compiler, kiln_error **error);
/* Ends running compiles and workers, and joins all threads. Before this call, the callers must have taken or cancelled
 * every job. */
void kiln__compiler_close(kiln__compiler *compiler);
/* Returns an eventfd for poll(), which is readable if a compile has ended since the last read. A read of the eventfd
 * clears it for all threads. So if two threads wait for one pool, each thread must also check its jobs from time to
 * time. */
int kiln__compiler_ended(const kiln__compiler *compiler);
/* Pauses the pool, so that the machine is free for something else, for example a measurement. The pool does not start
 * jobs that wait in the queue until the release. It does start jobs that are requested during the hold. Calls may nest.
 * The pool is quiet if nothing compiles and no job waits for a retry. */
void kiln__compiler_hold(kiln__compiler *compiler);
void kiln__compiler_release(kiln__compiler *compiler);
bool kiln__compiler_is_quiet(kiln__compiler *compiler);

/* A requested compile, which is a job of a pool. Different threads may have jobs in one pool, but only one thread at a
 * time may use a job. */
typedef struct kiln__compile_job kiln__compile_job;
/* Queues a compile. The pool copies the request. Workers take jobs in the order in which they were requested. If an
 * equal request waits or runs, the pool does not compile the new job: the new job gets a copy of the result of that
 * request, with a time of 0. */
kiln_status kiln__compile_start(kiln__compiler *compiler, const kiln__compile_request *request, kiln__compile_job **job,
                                kiln_error **error);
bool kiln__compile_done(kiln__compile_job *job); /* never blocks */
/* Waits at most `seconds` for the job to end. A value < 0 means no limit. Returns whether the job is done. */
bool kiln__compile_wait(kiln__compile_job *job, double seconds);
/* Waits for the result of a job, takes the result, and frees the job. An error KILN_ERROR_COMPILE contains NVRTC's log.
 * KILN_ERROR_TIMEOUT and the error of a crashed compiler have messages of their own. *ns receives the time of the
 * compile. If the compile failed, *unit is empty. */
kiln_status kiln__compile_take(kiln__compile_job *job, kiln__unit *unit, uint64_t *ns, kiln_error **error);
/* Returns false while the job waits in the queue. For a job that gets the result of an equal job, the state of that
 * equal job counts. */
bool kiln__compile_begun(kiln__compile_job *job);
/* Cancels a job, which the caller must not use any more. If the job is being compiled, the compile continues, and the
 * pool drops its result. NULL is allowed. */
void kiln__compile_cancel(kiln__compile_job *job);

/* Makes a unit with copies of the given parts, in one allocation that kiln__unit_free() frees. A part of 0 bytes
 * becomes NULL. */
kiln_status kiln__unit_make(const kiln_allocator *mem, const kiln__unit *parts, kiln__unit *unit, kiln_error **error);

/* Refuses options that write files, load plug-ins, or read files that the engine does not know. */
kiln_status kiln__option_check(const kiln_allocator *mem, const char *option, kiln_error **error);

/* ---- logs ---- */

/* Adds a log of NVRTC to `text` in a form for people: at most 200 lines, without statistics of ptxas and control
 * characters, and without warnings if there are errors. If a message of ptxas gives only a line number of the PTX, the
 * function adds that line of `ptx`. `ptx` may be NULL. */
void kiln__compile_log_format(kiln__text *text, const char *log, const char *ptx);
/* Returns the next message C7509 to C7520 of ptxas after *at, such as "C7510: ...", in `arena`, or NULL after the last
 * message. With these messages ptxas tells that it serialises wgmma instructions. Before the first call, the caller
 * sets *at to the log. */
const char *kiln__compile_log_finding(kiln__arena *arena, const char **at);
/* Reads from the log how many bytes each thread of the kernel `symbol` spills. Returns false if the log does not
 * contain these numbers. */
bool kiln__compile_log_spills(const char *log, const char *symbol, int64_t *stores, int64_t *loads);

/* ---- data about kernels in a cubin (libelf; no device) ---- */
typedef struct kiln__cubin_kernel {
    char symbol[256];
    int registers;
    /* bytes of static shared memory, without the part that the system reserves since compute capability 9.0 */
    uint64_t static_shared;
    uint64_t local_bytes; /* bytes of stack per thread, including spills and called functions */
    /* bytes of constant bank 0 (parameters and launch data) and of the compiler's own constants */
    uint64_t constant_bytes;
    uint64_t user_constant_bytes; /* bytes of the __constant__ variables of the whole module */
    int max_threads;              /* maximum of __launch_bounds__, or 0 if the kernel has no launch bounds */
    int barriers;                 /* per block */
    /* columns of tensor memory per block; a value <= 0 means none or unknown, because a cubin does not tell the
     * number */
    int tensor_columns;
} kiln__cubin_kernel;
kiln_status kiln__cubin_kernels(const kiln_allocator *mem, const void *cubin, size_t length,
                                kiln__cubin_kernel **kernels, size_t *count, kiln_error **error);
/* Returns true if the cubin must still be linked. Returns false if the cubin needs no linking, or if the bytes are not
 * a cubin. */
bool kiln__is_relocatable(const void *cubin, size_t length);
/* Occupancy, computed by the toolkit's cuda_occupancy.h. */
typedef struct kiln__occupancy {
    int blocks_per_sm;
    double occupancy;
    /* The resource that limits the occupancy, as a static text: "registers", "shared memory", "tensor memory",
     * "threads", "blocks", "barriers", "nothing". */
    const char *limited_by;
} kiln__occupancy;
/* Computes the occupancy for blocks of `threads` threads with `dynamic_shared` bytes of dynamic shared memory. If a
 * kernel needs more registers or shared memory than any device has, the result is 0 blocks. Returns
 * KILN_ERROR_UNSUPPORTED if the limits of `arch` are not known. */
kiln_status kiln__occupancy_of(const kiln_allocator *mem, int arch, const kiln__cubin_kernel *kernel, unsigned threads,
                               uint64_t dynamic_shared, kiln__occupancy *occupancy, kiln_error **error);
#endif
