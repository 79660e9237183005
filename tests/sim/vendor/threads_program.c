/* Several threads use the same handles of Kiln's libraries that replace NVIDIA's, and another thread changes the
 * settings of the handles meanwhile. NVIDIA's libraries allow this. The thread sanitizer finds races, and the results
 * are compared. In the second part the other thread also captures the streams of the handles, so that any call may
 * fail. A call that fails must not write its result later. $KILN_BLAS and $KILN_LAPACK are fake_blas.so. The program
 * prints each error, and its exit code is then 1. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../program.h"

enum { DONE = 0, DOUBLES = 1, INDEX_32 = 2, D2Z = 0x6a, XORWOW = 101 };
enum { THREADS = 3, ROUNDS = 60, CAPTURES = 40, STREAMS = 2, N = 2, POINTS = 16, PART = 512 };

#define FIND(library, name, function)                                                                                  \
    do {                                                                                                               \
        void *found_ = dlsym(library, name);                                                                           \
        if (!found_) {                                                                                                 \
            fprintf(stderr, "%s: %s\n", name, dlerror());                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
        memcpy(&function, &found_, sizeof function);                                                                   \
    } while (0)
/* Like CHECK, for any thread. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            atomic_store(&failed, true);                                                                               \
        }                                                                                                              \
    } while (0)

static CUcontext context;
static CUstream streams[STREAMS];
/* `captures` tells that the second part runs, and `ended` that all other threads have ended */
static atomic_bool failed, captures, ended;

/* The shared handles are of cuBLAS, cuSPARSE and cuSOLVER, of generators on the device and on the host, and of a
 * plan. */
static void *blas, *sparse, *solver, *random_device, *random_host;
static int plan;

static int (*gemm)(void *, int, int, int, int, int, const double *, CUdeviceptr, int, CUdeviceptr, int, const double *,
                   CUdeviceptr, int);
static int (*extreme)(void *, int, CUdeviceptr, int, int *);
static int (*create_csr)(void **, int64_t, int64_t, int64_t, CUdeviceptr, CUdeviceptr, CUdeviceptr, int, int, int, int);
static int (*create_vector)(void **, int64_t, CUdeviceptr, int), (*destroy_vector)(void *), (*destroy_matrix)(void *);
static int (*spmv)(void *, int, const void *, void *, void *, const void *, void *, int, int, void *);
static int (*potrf)(void *, int, int, CUdeviceptr, int, CUdeviceptr, int, CUdeviceptr);
static int (*generate)(void *, void *, size_t), (*set_seed)(void *, unsigned long long), (*make_seeds)(void *);
static int (*transform)(int, CUdeviceptr, CUdeviceptr), (*plan_1d)(int *, int, int, int), (*end_plan)(int);
static int (*set_streams[5])(void *, CUstream), (*set_plan_stream)(int, CUstream), (*set_pointers[2])(void *, int);

/* The memory of a thread, which host and device access at the same address. */
typedef struct part {
    double one, zero, a[N * N], b[N * N], c[N * N], x[N], y[N], spd[N * N], area[32], in[POINTS],
        out[2 * (POINTS / 2 + 1)];
    int32_t offsets[N + 1], indices[N], info, place;
    uint32_t numbers[PART];
} part;

static CUdeviceptr at(const void *address) { return (uintptr_t)address; }

/* Returns true if a call succeeded. In the first part each call must succeed. */
static bool went(int code)
{
    EXPECT(code == DONE || atomic_load(&captures));
    return code == DONE && !atomic_load(&captures);
}

static void use_blas(part *p)
{
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    memcpy(p->a, a, sizeof a);
    memcpy(p->b, b, sizeof b);
    if (went(gemm(blas, 0, 0, N, N, N, &p->one, at(p->a), N, at(p->b), N, &p->zero, at(p->c), N)))
        EXPECT(p->c[0] == 23 && p->c[1] == 34 && p->c[2] == 31 && p->c[3] == 46);
    int *place = malloc(sizeof *place); /* the address sanitizer finds a write after the call */
    if (!place)
        exit(1);
    *place = 0;
    p->place = 0;
    if (went(extreme(blas, N * N, at(p->b), 1, atomic_load(&captures) ? place : &p->place)))
        EXPECT(p->place == 4);
    free(place);
}

static void use_sparse(part *p)
{
    void *matrix = NULL, *x = NULL, *y = NULL;
    for (int k = 0; k < N; k++)
        p->a[k] = k + 2, p->x[k] = k + 1, p->indices[k] = k, p->offsets[k] = k;
    p->offsets[N] = N;
    EXPECT(create_csr(&matrix, N, N, N, at(p->offsets), at(p->indices), at(p->a), INDEX_32, INDEX_32, 0, DOUBLES) ==
           DONE);
    EXPECT(create_vector(&x, N, at(p->x), DOUBLES) == DONE && create_vector(&y, N, at(p->y), DOUBLES) == DONE);
    if (went(spmv(sparse, 0, &p->one, matrix, x, &p->zero, y, DOUBLES, 0, NULL)))
        EXPECT(p->y[0] == 2 && p->y[1] == 6);
    destroy_matrix(matrix);
    destroy_vector(x);
    destroy_vector(y);
}

static void use_solver(part *p)
{
    const double spd[] = {4, 2, 9, 10};
    memcpy(p->spd, spd, sizeof spd);
    if (went(potrf(solver, 0, N, at(p->spd), N, at(p->area), 32, at(&p->info))))
        EXPECT(p->spd[0] == 2 && p->spd[1] == 1 && p->spd[3] == 3);
}

/* The numbers of several threads have no fixed order, so only the results of the calls are tested. */
static void use_random(part *p, int round)
{
    went(generate(random_device, p->numbers, PART));
    EXPECT(generate(random_host, p->numbers, PART) == DONE);
    if (round % 4 == 0) {
        EXPECT(set_seed(random_device, (unsigned)round) == DONE && set_seed(random_host, (unsigned)round) == DONE);
        EXPECT(make_seeds(random_host) == DONE);
    }
}

static void use_transform(part *p)
{
    int own = 0;
    for (int k = 0; k < POINTS; k++)
        p->in[k] = k == 0;
    if (!transform)
        return;
    if (went(transform(plan, at(p->in), at(p->out))))
        EXPECT(p->out[0] == 1 && p->out[2] == 1 && p->out[POINTS] == 1);
    EXPECT(plan_1d(&own, POINTS, D2Z, 1) == DONE && end_plan(own) == DONE);
}

static void *work(void *memory)
{
    EXPECT(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuThreadExchangeStreamCaptureMode(&mode);
    for (int round = 0; round < ROUNDS; round++) {
        use_blas(memory);
        use_sparse(memory);
        use_solver(memory);
        use_random(memory, round);
        use_transform(memory);
    }
    return NULL;
}

/* Captures the calls that the other threads make meanwhile, and launches the graph. */
static void capture(CUstream stream)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    if (cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS)
        return;
    for (int k = 0; k < 20; k++)
        set_pointers[0](blas, k % 2);
    if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS)
        return;
    if (cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS) {
        cuGraphLaunch(exec, stream);
        cuStreamSynchronize(stream);
        cuGraphExecDestroy(exec);
    }
    cuGraphDestroy(graph);
}

/* Changes the settings of all handles until the other threads have ended. */
static void *change(void *none)
{
    void *const handles[] = {blas, sparse, solver, random_device, random_host};
    EXPECT(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    for (unsigned k = 0; !atomic_load(&ended); k++) {
        const CUstream stream = streams[k % STREAMS];
        for (unsigned h = 0; h < sizeof handles / sizeof handles[0]; h++)
            EXPECT(set_streams[h](handles[h], stream) == DONE);
        EXPECT(set_pointers[0](blas, k / 2 % 2) == DONE && set_pointers[1](sparse, k / 2 % 2) == DONE);
        EXPECT(!transform || set_plan_stream(plan, stream) == DONE);
        if (atomic_load(&captures) && k % 4 == 0 && k / 4 < CAPTURES)
            capture(stream);
    }
    return none;
}

static void run(void)
{
    part *memory;
    pthread_t threads[THREADS], other;
    TRY(cuMemHostAlloc((void **)&memory, THREADS * sizeof *memory, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(memory, 0, THREADS * sizeof *memory);
    atomic_store(&ended, false);
    for (int k = 0; k < THREADS; k++) {
        memory[k].one = 1;
        if (pthread_create(&threads[k], NULL, work, &memory[k]) != 0)
            exit(1);
    }
    if (pthread_create(&other, NULL, change, NULL) != 0)
        exit(1);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    atomic_store(&ended, true);
    pthread_join(other, NULL);
}

static void *open_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static void create(void *library, const char *name, void **handle)
{
    int (*function)(void **);
    FIND(library, name, function);
    CHECK(function(handle) == DONE);
}

static void open_all(void)
{
    void *of_blas = open_library("libcublas.so.13"), *of_sparse = open_library("libcusparse.so.12"),
         *of_solver = open_library("libcusolver.so.12"), *of_random = open_library("libcurand.so.10"),
         *of_fft = open_library("libcufft.so.12");
    int (*make)(void **, int);
    create(of_blas, "cublasCreate_v2", &blas);
    create(of_sparse, "cusparseCreate", &sparse);
    create(of_solver, "cusolverDnCreate", &solver);
    FIND(of_random, "curandCreateGenerator", make);
    CHECK(make(&random_device, XORWOW) == DONE);
    FIND(of_random, "curandCreateGeneratorHost", make);
    CHECK(make(&random_host, XORWOW) == DONE);
    FIND(of_blas, "cublasDgemm_v2", gemm);
    FIND(of_blas, "cublasIdamax_v2", extreme);
    FIND(of_sparse, "cusparseCreateCsr", create_csr);
    FIND(of_sparse, "cusparseCreateDnVec", create_vector);
    FIND(of_sparse, "cusparseDestroyDnVec", destroy_vector);
    FIND(of_sparse, "cusparseDestroySpMat", destroy_matrix);
    FIND(of_sparse, "cusparseSpMV", spmv);
    FIND(of_solver, "cusolverDnDpotrf", potrf);
    FIND(of_random, "curandGenerate", generate);
    FIND(of_random, "curandSetPseudoRandomGeneratorSeed", set_seed);
    FIND(of_random, "curandGenerateSeeds", make_seeds);
    FIND(of_fft, "cufftPlan1d", plan_1d);
    FIND(of_fft, "cufftDestroy", end_plan);
    FIND(of_fft, "cufftSetStream", set_plan_stream);
    FIND(of_blas, "cublasSetStream_v2", set_streams[0]);
    FIND(of_sparse, "cusparseSetStream", set_streams[1]);
    FIND(of_solver, "cusolverDnSetStream", set_streams[2]);
    FIND(of_random, "curandSetStream", set_streams[3]);
    FIND(of_random, "curandSetStream", set_streams[4]);
    FIND(of_blas, "cublasSetPointerMode_v2", set_pointers[0]);
    FIND(of_sparse, "cusparseSetPointerMode", set_pointers[1]);
    if (plan_1d(&plan, POINTS, D2Z, 1) == DONE) /* a transform needs FFTW on the host, and fails without it */
        FIND(of_fft, "cufftExecD2Z", transform);
}

int main(void)
{
    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cuCtxSetCurrent(context));
    for (int k = 0; k < STREAMS; k++)
        TRY(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
    open_all();
    run();
    atomic_store(&captures, true);
    run();
    return wrong != 0 || atomic_load(&failed);
}
