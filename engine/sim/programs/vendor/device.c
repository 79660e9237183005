/* device.c - runs the work of the stand-ins in the order of streams. A stand-in computes in a host function of the
 * stream (cuLaunchHostFunc), so events, waits and graphs order its work like a kernel. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "reach.h"
#include "vendor.h"

static struct {
    CUresult (*launch)(CUstream, CUhostFn, void *);
    CUresult (*capturing)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **, size_t *);
    CUresult (*object)(CUuserObject *, void *, CUhostFn, unsigned, unsigned);
    CUresult (*retain)(CUgraph, CUuserObject, unsigned, unsigned);
    CUresult (*release)(CUuserObject, unsigned);
    CUresult (*copy)(const CUDA_MEMCPY2D *), (*copy_later)(const CUDA_MEMCPY2D *, CUstream);
    CUresult (*init)(unsigned), (*current)(CUcontext *), (*set_current)(CUcontext), (*primary)(CUcontext *, CUdevice);
    bool (*compute)(void (*)(void *), void *);
    void *(*reach)(uint64_t, size_t, int, const char *);
    bool found;
} device;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *to)
{
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(to, &found, sizeof found); /* memcpy, because ISO C has no cast from a data pointer to a function pointer */
    return found;
}

static void open_device(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    device.found = find(library, "cuLaunchHostFunc", &device.launch) &&
                   find(library, "cuStreamGetCaptureInfo_v2", &device.capturing) &&
                   find(library, "cuUserObjectCreate", &device.object) &&
                   find(library, "cuGraphRetainUserObject", &device.retain) &&
                   find(library, "cuUserObjectRelease", &device.release) &&
                   find(library, "cuMemcpy2DUnaligned_v2", &device.copy) &&
                   find(library, "cuMemcpy2DAsync_v2", &device.copy_later) &&
                   find(library, "cuCtxGetCurrent", &device.current) &&
                   find(library, "cuCtxSetCurrent", &device.set_current) &&
                   find(library, "cuDevicePrimaryCtxRetain", &device.primary) &&
                   find(library, "cuInit", &device.init) && find(library, "kiln_sim_compute", &device.compute) &&
                   find(library, "kiln_sim_reach", &device.reach);
}

bool vendor_open_device(const char *library)
{
    static bool told;
    pthread_once(&once, open_device);
    if (!device.found && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        fprintf(
            stderr,
            "kiln: this %s computes on the host and needs Kiln's simulated libcuda.so.1. Start the program by `kiln "
            "sim run`\n",
            library);
    return device.found;
}

void *vendor_enter(void *preferred)
{
    CUcontext context = NULL;
    if (device.init(0) != CUDA_SUCCESS || device.current(&context) != CUDA_SUCCESS)
        return NULL;
    if (context)
        return context;
    context = preferred;
    if (!context && device.primary(&context, 0) != CUDA_SUCCESS)
        return NULL;
    return device.set_current(context) == CUDA_SUCCESS ? context : NULL;
}

void *vendor_reach(const void *address, size_t bytes, bool write, const char *what)
{
    return device.reach((uintptr_t)address, bytes, write, what);
}

typedef struct job {
    bool (*function)(const void *work);
    const char *what; /* name of the function of the library */
    bool done, kept;  /* `kept` means that a graph owns the job and may run it again */
    bool ended;       /* the call has returned, and no graph owns the job: it must not run any more */
    unsigned running; /* number of threads that run the job */
    _Alignas(16) char work[];
} job;

/* Guards the states of all jobs, because another thread may run the job of a call that has not returned. No thread
 * holds this lock while it runs a job, so two devices can compute at the same time. */
static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ended = PTHREAD_COND_INITIALIZER;

static bool begin_job(job *j, bool *before)
{
    pthread_mutex_lock(&jobs_lock);
    const bool begins = !j->ended;
    j->running += begins;
    *before = j->done;
    pthread_mutex_unlock(&jobs_lock);
    return begins;
}

static void end_job(job *j, bool done)
{
    pthread_mutex_lock(&jobs_lock);
    j->done = done;
    j->running--;
    pthread_cond_broadcast(&job_ended);
    pthread_mutex_unlock(&jobs_lock);
}

/* Returns the result of a job at the end of its call. `ends` means that the job must not run any more. */
static bool finish_job(job *j, bool ends)
{
    pthread_mutex_lock(&jobs_lock);
    while (j->running > 0)
        pthread_cond_wait(&job_ended, &jobs_lock);
    const bool done = j->done;
    j->ended = ends;
    pthread_mutex_unlock(&jobs_lock);
    return done;
}

static void compute_job(void *what)
{
    job *j = what;
    bool first;
    if (!begin_job(j, &first))
        return;
    const bool kept = j->kept, done = j->function(j->work);
    const char *name = j->what;
    end_job(j, done);
    if (kept && first && !done) /* print the error, because no call of the program can return it */
        fprintf(stderr,
                "kiln: %s in a graph failed: not all of its memory is there. Under `kiln sim run --check` the findings "
                "name the memory\n",
                name);
}

static _Thread_local const void *called; /* the job with which run_job() was last called on this thread */

/* The job of a graph is freed with the graph. So the job is used only inside device.compute(), where no other thread
 * can end the context. */
static void CUDA_CB run_job(void *what)
{
    called = what;
    device.compute(compute_job, what);
}

static CUgraph captured_graph(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    return device.capturing(stream, &status, NULL, &graph, NULL, NULL) == CUDA_SUCCESS &&
                   status == CU_STREAM_CAPTURE_STATUS_ACTIVE
               ? graph
               : NULL;
}

bool vendor_is_capturing(void *stream) { return captured_graph(stream); }

/* If the stream is captured, the job becomes a user object of the graph. This function also holds a reference until it
 * returns, because another thread may end the capture and destroy the graph. If the stream is not captured, the
 * function frees the job at its end. There is one exception: if the launch has succeeded but run_job() was not called,
 * another thread has begun a capture. Then the call fails, and the job stays for that graph but does nothing, because
 * its work may have addresses of the caller's variables. */
bool vendor_enqueue(void *stream, const char *what, bool (*function)(const void *work), const void *work, size_t bytes,
                    bool *result)
{
    CUgraph graph = captured_graph(stream);
    job *j = malloc(sizeof *j + bytes);
    CUuserObject object = NULL;
    if (!j)
        return false;
    *j = (job){.function = function, .what = what, .done = graph, .kept = graph};
    memcpy(j->work, work, bytes);
    if (graph && device.object(&object, j, free, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS) {
        free(j);
        return false;
    }
    called = NULL;
    const bool owned = !graph || device.retain(graph, object, 1, 0) == CUDA_SUCCESS;
    const bool launched = owned && device.launch(stream, run_job, j) == CUDA_SUCCESS;
    *result = finish_job(j, !graph);
    if (graph)
        device.release(object, 1);
    else if (called == j || !launched)
        free(j);
    return launched;
}

bool vendor_copy(const vendor_box *box, bool waits, void *stream)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = box->to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                                .srcHost = box->from,
                                .srcDevice = (uintptr_t)box->from,
                                .srcPitch = box->from_pitch,
                                .dstMemoryType = box->to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                                .dstHost = box->to,
                                .dstDevice = (uintptr_t)box->to,
                                .dstPitch = box->to_pitch,
                                .WidthInBytes = box->width,
                                .Height = box->height};
    return (waits ? device.copy(&copy) : device.copy_later(&copy, stream)) == CUDA_SUCCESS;
}
