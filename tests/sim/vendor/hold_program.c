/* A program that frees memory, or resets the device, on one thread while cuBLAS computes on another thread. The call
 * must wait for the computation, as for a kernel. The program also passes misaligned addresses. $KILN_BLAS is
 * fake_blas.so. The program prints each error, and its exit code is then 1. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "../program.h"

enum { FAILED = 13 }; /* CUBLAS_STATUS_EXECUTION_FAILED */
/* PATIENCE is the time in ms that a product waits for the other thread's call */
enum { N = 256, BYTES = N * N * 4, PATIENCE = 300 };
/* `computing` tells that a product is being computed, and `ended` that the other thread's call has returned */
static atomic_int computing, ended;
static CUcontext context;
static CUdeviceptr matrix;
static int (*sgemm)(void *, int, int, int, int, int, const float *, CUdeviceptr, int, CUdeviceptr, int, const float *,
                    CUdeviceptr, int);

static void pause_1_ms(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* The product calls this function. It gives the other thread time to end its call, and then uses the matrix. */
static void compute(float *c)
{
    atomic_store(&computing, 1);
    for (int k = 0; k < PATIENCE && !atomic_load(&ended); k++)
        pause_1_ms();
    CHECK(!atomic_load(&ended));
    if (!atomic_load(&ended))
        memset(c, 0, BYTES);
}

static void wait_for_product(void)
{
    while (!atomic_load(&computing))
        pause_1_ms();
}

static void *free_beside(void *none)
{
    OK(cuCtxSetCurrent(context));
    wait_for_product();
    OK(cuMemFree(matrix));
    atomic_store(&ended, 1);
    return none;
}

static void *reset_beside(void *none)
{
    wait_for_product();
    OK(cuDevicePrimaryCtxReset(0));
    atomic_store(&ended, 1);
    return none;
}

/* ---- a context that ends and begins again between a host function and its computation ---- */

static bool (*compute_work)(void (*)(void *), void *);
static bool began, ran;

static void mark(void *flag) { *(bool *)flag = true; }

static void *renew_beside(void *none)
{
    CUcontext again;
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    CHECK(again == context);
    return none;
}

/* Computes like Kiln's libraries, but only after another thread has ended the context, and has made it again. */
static void CUDA_CB compute_late(void *none)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, renew_beside, none) != 0)
        exit(1);
    pthread_join(thread, NULL);
    began = compute_work(mark, &ran);
}

/* The end of the graph's context frees the arguments of a computation in the graph. */
static void test_renewed_context(void)
{
    CUstream stream;
    void *at = dlsym(RTLD_DEFAULT, "kiln_sim_compute");
    CHECK(at != NULL);
    memcpy(&compute_work, &at, sizeof at); /* C has no cast from an object pointer to a function pointer */
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    cuLaunchHostFunc(stream, compute_late, NULL);
    CHECK(!began && !ran);
}

/* ---- a call in a captured stream of another device ---- */

/* The current context cannot give its job to the graph, which belongs to the other device. So the call must leave nothing in the
 * graph. */
static void test_other_capture(void *handle, int (*set_stream)(void *, void *))
{
    const float one = 1;
    CUcontext other;
    CUstream stream;
    CUgraph graph;
    CUgraphExec instance;
    size_t nodes = 1;
    TRY(cuDevicePrimaryCtxRetain(&other, 1));
    TRY(cuCtxSetCurrent(other));
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    TRY(cuCtxSetCurrent(context));
    TRY(cuMemAlloc(&matrix, BYTES));
    CHECK(set_stream(handle, stream) == 0);
    CHECK(sgemm(handle, 0, 0, N, N, N, &one, matrix, N, matrix, N, &one, matrix, N) == FAILED);
    TRY(cuCtxSetCurrent(other));
    TRY(cuStreamEndCapture(stream, &graph));
    TRY(cuGraphGetNodes(graph, NULL, &nodes));
    CHECK(nodes == 0);
    TRY(cuGraphInstantiateWithFlags(&instance, graph, 0));
    TRY(cuGraphLaunch(instance, stream));
    TRY(cuCtxSetCurrent(context));
}

static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

static void start(pthread_t *thread, void *(*function)(void *))
{
    atomic_store(&computing, 0);
    atomic_store(&ended, 0);
    if (pthread_create(thread, NULL, function, NULL) != 0)
        exit(1);
}

int main(void)
{
    int (*create)(void **), (*set_stream)(void *, void *), (*set_pointers)(void *, int), (*destroy)(void *);
    void *blas = dlopen("libcublas.so.13", RTLD_NOW), *fake = dlopen(getenv("KILN_BLAS"), RTLD_NOW), *handle = NULL,
         *at;
    const float one = 1;
    pthread_t thread;
    CUstream stream;
    CUgraph graph;
    CUgraphExec instance;
    /* C has no cast from an object pointer to a function pointer */
    at = find(blas, "cublasCreate_v2"), memcpy(&create, &at, sizeof at);
    at = find(blas, "cublasSetStream_v2"), memcpy(&set_stream, &at, sizeof at);
    at = find(blas, "cublasSetPointerMode_v2"), memcpy(&set_pointers, &at, sizeof at);
    at = find(blas, "cublasDestroy_v2"), memcpy(&destroy, &at, sizeof at);
    at = find(blas, "cublasSgemm_v2"), memcpy(&sgemm, &at, sizeof at);
    void (*hook)(float *) = compute;
    memcpy(find(fake, "fake_blas_hook"), &hook, sizeof hook);
    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cuCtxSetCurrent(context));
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuMemAlloc(&matrix, BYTES));
    CHECK(create(&handle) == 0 && set_stream(handle, stream) == 0);

    /* Passes addresses of a matrix and of a scalar that are misaligned for floats. */
    CHECK(sgemm(handle, 0, 0, 2, 2, 2, &one, matrix + 2, 2, matrix, 2, &one, matrix, 2) == FAILED);
    CHECK(set_pointers(handle, 1) == 0);
    CHECK(sgemm(handle, 0, 0, 2, 2, 2, (const float *)(matrix + 2), matrix, 2, matrix, 2, (const float *)matrix, matrix,
                2) == FAILED);
    CHECK(set_pointers(handle, 0) == 0);

    test_other_capture(handle, set_stream);
    CHECK(set_stream(handle, stream) == 0);
    start(&thread, free_beside);
    CHECK(sgemm(handle, 0, 0, N, N, N, &one, matrix, N, matrix, N, &one, matrix, N) == 0);
    pthread_join(thread, NULL);

    /* Makes the call in a graph, whose arguments are freed with the context. */
    TRY(cuMemAlloc(&matrix, BYTES));
    TRY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(sgemm(handle, 0, 0, N, N, N, &one, matrix, N, matrix, N, &one, matrix, N) == 0);
    TRY(cuStreamEndCapture(stream, &graph));
    TRY(cuGraphInstantiateWithFlags(&instance, graph, 0));
    TRY(cuGraphDestroy(graph));
    start(&thread, reset_beside);
    cuGraphLaunch(instance, stream); /* the context may have ended when the call returns */
    pthread_join(thread, NULL);
    TRY(cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cuCtxSetCurrent(context));
    test_renewed_context();
    CHECK(destroy(handle) == 0);
    return wrong != 0;
}
