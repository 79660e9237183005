/* A program that uses the CUDA runtime wrongly on purpose: wrong registrations, and wrong sizes in structures. Each
 * call must return an error or do no harm. The program prints each mistake. It ends with 0 if no mistake occurred. */
#include <cuda_runtime_api.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry one()\n{\n ret;\n}\n";

/* The structure that nvcc puts around a fat binary. */
typedef struct wrapper {
    unsigned magic, version;
    const void *data;
    const void *const *parts;
} wrapper;
enum { MAGIC = 0x466243b1 };

void **__cudaRegisterFatBinary(const void *image);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **, const void *, const char *, const char *, int, void *, void *, void *, void *,
                            int *);
void __cudaRegisterVar(void **, const void *, const char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol);

static int wrong;
static void check(int line, int right, const char *what)
{
    if (!right) {
        printf("line %d: %s (last error: %s)\n", line, what, cudaGetErrorName(cudaPeekAtLastError()));
        wrong++;
    }
}
#define CHECK(condition) check(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == cudaSuccess)
#define IS(call, error) CHECK((call) == (error))

static cudaError_t launch(const void *symbol)
{
    return cudaLaunchKernel(symbol, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
}

/* Registers `symbol` as the kernel `name` of an image. */
static void **registered(const void *image, const void *symbol, const char *name)
{
    void **handle = __cudaRegisterFatBinary(image);
    __cudaRegisterFunction(handle, symbol, "", name, -1, NULL, NULL, NULL, NULL, NULL);
    return handle;
}

/* Registers images that cannot be loaded. Each launch fails, and the process continues. */
static void images(void)
{
    static const void *const none[] = {NULL};
    static const char empty[] = "", text[] = "no PTX", elf[] = "\177ELF and no more";
    static const wrapper no_data = {MAGIC, 1, NULL, NULL}, no_parts = {MAGIC, 2, NULL, none},
                         other = {MAGIC + 1, 1, ptx, NULL};
    static const void *const all[] = {empty, text, elf, &no_data, &no_parts, &other, NULL};
    static const char symbols[sizeof all / sizeof all[0]];
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void **handle = registered(all[i], &symbols[i], "one");
        CHECK(launch(&symbols[i]) != cudaSuccess);
        CHECK(!__cudaInitModule(handle));
        __cudaUnregisterFatBinary(handle);
        IS(launch(&symbols[i]), cudaErrorInvalidDeviceFunction);
    }
}

/* Passes handles that are invalid or were unregistered, and symbols and names that are NULL. */
static void handles(void)
{
    static const wrapper image = {MAGIC, 1, ptx, NULL};
    static const char symbol, late, unknown;
    void *fake[16] = {0};
    cudaKernel_t kernel;
    void *address;
    void **handle = registered(&image, &symbol, "one");
    OK(launch(&symbol));
    __cudaRegisterFunction(handle, NULL, "", "one", -1, NULL, NULL, NULL, NULL, NULL);
    IS(launch(NULL), cudaErrorInvalidDeviceFunction);
    IS(launch(&unknown), cudaErrorInvalidDeviceFunction);
    IS(__cudaGetKernel(&kernel, NULL), cudaErrorInvalidDeviceFunction);
    __cudaRegisterFunction(handle, &late, "", NULL, -1, NULL, NULL, NULL, NULL, NULL);
    CHECK(launch(&late) != cudaSuccess);
    __cudaRegisterVar(handle, &unknown, "", "no variable of the image", 0, SIZE_MAX, 0, 0);
    IS(cudaGetSymbolAddress(&address, &unknown), cudaErrorInvalidSymbol);
    __cudaRegisterFunction(fake, &unknown, "", "one", -1, NULL, NULL, NULL, NULL, NULL);
    CHECK(!__cudaInitModule(fake));
    __cudaUnregisterFatBinary(fake);
    __cudaUnregisterFatBinary(handle);
    __cudaUnregisterFatBinary(handle);
    __cudaRegisterFunction(handle, &symbol, "", "one", -1, NULL, NULL, NULL, NULL, NULL);
    CHECK(!__cudaInitModule(handle));
    IS(launch(&symbol), cudaErrorInvalidDeviceFunction);
    __cudaUnregisterFatBinary(NULL);
}

/* Pushes more launch configurations than launches can be nested, and pops more than were pushed. */
static void configurations(void)
{
    dim3 grid, block;
    size_t shared;
    void *stream;
    unsigned pushed = 0;
    while (pushed < 1000 && __cudaPushCallConfiguration((dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, NULL) == 0)
        pushed++;
    CHECK(pushed > 0 && pushed < 1000);
    for (; pushed > 0; pushed--)
        OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    IS(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
    (void)cudaGetLastError();
}

/* Passes sizes whose product does not fit 64 bits. */
static void sizes(void)
{
    enum { WIDTH = 8, HEIGHT = 4 };
    const size_t half = (size_t)1 << 32, most = (size_t)1 << 62;
    const struct cudaChannelFormatDesc word = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    static unsigned host[WIDTH * HEIGHT * 2];
    struct cudaPitchedPtr memory = {0};
    cudaArray_t array;
    CHECK(cudaMalloc3D(&memory, (struct cudaExtent){1, half, half}) != cudaSuccess);
    CHECK(cudaMalloc3D(&memory, (struct cudaExtent){16, half + 1, half}) != cudaSuccess);
    CHECK(cudaMalloc3DArray(&array, &word, (struct cudaExtent){most, most, most}, 0) != cudaSuccess);
    OK(cudaMalloc3D(&memory, (struct cudaExtent){WIDTH * 4, HEIGHT, 2}));
    OK(cudaMalloc3DArray(&array, &word, (struct cudaExtent){WIDTH, HEIGHT, 0}, 0));
    (void)cudaGetLastError();

    /* 2^62 + 1 elements of 4 bytes are 4 bytes, if the product is cut to 64 bits. */
    memset(host, 1, sizeof host);
    struct cudaMemcpy3DParms copy = {.dstArray = array,
                                     .srcPtr = {host, sizeof host / HEIGHT, WIDTH, HEIGHT},
                                     .extent = {most + 1, 1, 1},
                                     .kind = cudaMemcpyHostToDevice};
    IS(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
    copy.extent.width = most;
    IS(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
    copy.extent.width = 1;
    copy.dstPos.x = most;
    IS(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
    copy.dstPos.x = 0;
    OK(cudaMemcpy3D(&copy));
    const size_t far[] = {(size_t)1 << 63, SIZE_MAX, most};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
        for (int field = 0; field < 8; field++) {
            struct cudaMemcpy3DParms hostile = {
                .srcPtr = memory, .dstArray = array, .extent = {WIDTH, 2, 1}, .kind = cudaMemcpyDeviceToDevice};
            size_t *const fields[] = {&hostile.srcPos.x,     &hostile.srcPos.y,     &hostile.srcPos.z,
                                      &hostile.srcPtr.pitch, &hostile.extent.width, &hostile.extent.height,
                                      &hostile.extent.depth, &hostile.dstPos.y};
            *fields[field] = far[i];
            CHECK(cudaMemcpy3D(&hostile) != cudaSuccess);
        }

    CHECK(cudaMemset3D(memory, 0, (struct cudaExtent){4, HEIGHT, most}) != cudaSuccess);
    CHECK(cudaMemset3D(memory, 0, (struct cudaExtent){4, 1, most}) != cudaSuccess);
    struct cudaPitchedPtr tall = memory;
    tall.ysize = half;
    tall.pitch = half;
    CHECK(cudaMemset3D(tall, 0, (struct cudaExtent){4, 1, 2}) != cudaSuccess); /* the second layer is 2^64 bytes away */
    OK(cudaMemset3D(memory, 0, (struct cudaExtent){4, HEIGHT, 2}));
    (void)cudaGetLastError();
    CHECK(cudaMemset2D(memory.ptr, SIZE_MAX, 0, 4, 2) != cudaSuccess);
    CHECK(cudaMemcpy2D(host, SIZE_MAX, memory.ptr, SIZE_MAX, 4, 2, cudaMemcpyDefault) != cudaSuccess);
    OK(cudaFreeArray(array));
    OK(cudaFree(memory.ptr));
    (void)cudaGetLastError();
}

/* Passes an array with more places than there are kernels. The runtime must not read the rest of the places. */
static void enumerated(void)
{
    enum { ROOM = 4 };
    static const char unknown;
    struct cudaFuncAttributes attributes;
    cudaLibrary_t library;
    cudaKernel_t kernels[ROOM];
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    for (int i = 0; i < ROOM; i++)
        kernels[i] = (cudaKernel_t)(uintptr_t)&unknown;
    OK(cudaLibraryEnumerateKernels(kernels, ROOM, library));
    OK(cudaFuncGetAttributes(&attributes, kernels[0]));
    IS(cudaFuncGetAttributes(&attributes, &unknown), cudaErrorInvalidDeviceFunction);
    IS(cudaLibraryEnumerateKernels(NULL, ROOM, library), cudaErrorInvalidValue);
    OK(cudaLibraryUnload(library));
    CHECK(launch(kernels[0]) != cudaSuccess);
    (void)cudaGetLastError();
}

/* Changes a copy in an executable graph that does not exist. The graph itself must not change. */
static void nodes(void)
{
    static unsigned from[2] = {1, 2}, to[2];
    cudaGraph_t graph;
    cudaGraphNode_t node;
    struct cudaMemcpy3DParms is;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, to, from, 4, cudaMemcpyHostToHost));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(NULL, node, to, from + 1, 4, cudaMemcpyHostToHost) != cudaSuccess);
    OK(cudaGraphMemcpyNodeGetParams(node, &is));
    CHECK(is.srcPtr.ptr == from);
    OK(cudaGraphDestroy(graph));
    (void)cudaGetLastError();
}

/* Returns the bytes that malloc() has allocated, or 0 if another allocator replaces malloc(). */
static size_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Opens and closes shared objects, and loads and unloads libraries, many times. The memory of their symbols and handles
 * must be freed. */
static void repeated(void)
{
    enum { SYMBOLS = 300000, LIBRARIES = 3000, MOST = 1 << 20 };
    static const wrapper image = {MAGIC, 1, ptx, NULL};
    static char symbols[SYMBOLS];
    cudaLibrary_t library;
    cudaKernel_t kernel;
    struct cudaFuncAttributes attributes;
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryUnload(library));
    size_t before = allocated();
    for (size_t i = 0; i < SYMBOLS; i++)
        __cudaUnregisterFatBinary(registered(&image, &symbols[i], "one"));
    CHECK(allocated() < before + MOST);
    before = allocated();
    for (size_t i = 0; i < LIBRARIES; i++) {
        OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
        OK(cudaLibraryGetKernel(&kernel, library, "one"));
        OK(cudaFuncGetAttributes(&attributes, kernel));
        OK(cudaLibraryUnload(library));
        IS(cudaFuncGetAttributes(&attributes, kernel), cudaErrorInvalidDeviceFunction);
    }
    CHECK(allocated() < before + MOST / 16);
}

static atomic_bool closed;
static const char opened;

static void *ask(void *kernel)
{
    while (!closed)
        __cudaGetKernel(kernel, &opened); /* an error if the shared object is closed at this moment */
    return NULL;
}

/* One thread asks for a kernel while another thread opens and closes the shared object that has this kernel. The thread
 * sanitizer finds a use of memory that is freed meanwhile. */
static void closing(void)
{
    enum { TIMES = 100000 };
    static const wrapper image = {MAGIC, 1, ptx, NULL};
    cudaKernel_t kernel;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ask, &kernel) == 0);
    for (size_t i = 0; i < TIMES; i++)
        __cudaUnregisterFatBinary(registered(&image, &opened, "one"));
    closed = true;
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    images();
    handles();
    configurations();
    sizes();
    enumerated();
    nodes();
    repeated();
    closing();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
