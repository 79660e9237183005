/* Tests the differences of libcudart.so.12. The program finds the functions by name, as a program of CUDA 12 does. They
 * have another cudaDeviceProp, no edge data and no locations, and shorter structs. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;
static int wrong;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                             \
            wrong++;                                                                                                   \
        }                                                                                                              \
    } while (0)

static void find(const char *name, void *function)
{
    void *found = dlvsym(library, name, "libcudart.so.12");
    if (!found) {
        printf("%s is missing\n", name);
        wrong++;
    }
    memcpy(function, &found, sizeof found);
}

/* The first members of CUDA 12's cudaDeviceProp, and its size. */
typedef union prop {
    struct {
        char name[256], uuid[16], luid[8];
        unsigned mask;
        size_t memory, shared;
        int registers, warp;
        size_t pitch;
        int threads, block[3], grid[3], clock;
        size_t constant;
        int major, minor;
    } head;
    char bytes[1032 + 8];
} prop;

/* CUDA 12's cudaPointerAttributes. */
typedef struct pointer12 {
    int type, device;
    void *on_device, *on_host;
    long after;
} pointer12;

/* Calls the functions of CUDA 12 whose structs or signatures differ from CUDA 13, and compares the results. */
int main(void)
{
    int (*properties)(prop *, int), (*allocate)(void **, size_t, unsigned), (*what)(pointer12 *, const void *);
    int (*prefetch)(const void *, size_t, int, void *), (*advise)(const void *, size_t, int, int), (*version)(int *);
    int (*synchronize)(void), (*create)(void **, unsigned), (*add)(void **, void *, void *const *, size_t);
    int (*edges)(void *, void **, void **, size_t *), (*depend)(void *, void *const *, void *const *, size_t);
    library = dlopen("libcudart.so.12", RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    find("cudaGetDeviceProperties_v2", &properties);
    find("cudaMallocManaged", &allocate);
    find("cudaPointerGetAttributes", &what);
    find("cudaMemPrefetchAsync", &prefetch);
    find("cudaMemAdvise", &advise);
    find("cudaThreadSynchronize", &synchronize);
    find("cudaRuntimeGetVersion", &version);
    find("cudaGraphCreate", &create);
    find("cudaGraphAddEmptyNode", &add);
    find("cudaGraphAddDependencies", &depend);
    find("cudaGraphGetEdges", &edges);
    if (wrong)
        return 1;
    prop of;
    memset(&of, 0x5a, sizeof of);
    CHECK(properties(&of, 0) == 0);
    CHECK(of.head.warp == 32 && of.head.threads == 1024 && of.head.block[2] == 64 && of.head.major >= 8);
    CHECK(of.head.constant == 65536 && of.bytes[1031] == 0 && of.bytes[1032] == 0x5a);
    void *p = NULL, *graph, *nodes[2], *from[2], *to[2];
    pointer12 is = {.after = 42};
    CHECK(allocate(&p, 4096, 1) == 0);
    CHECK(what(&is, p) == 0 && is.type == 3 && is.on_device == p && is.after == 42);
    CHECK(prefetch(p, 4096, 0, NULL) == 0 && prefetch(p, 4096, -1, NULL) == 0 && advise(p, 4096, 1, 0) == 0);
    CHECK(synchronize() == 0);
    int number = 0;
    size_t count = 2;
    CHECK(version(&number) == 0 && number / 1000 == 12);
    CHECK(create(&graph, 0) == 0 && add(&nodes[0], graph, NULL, 0) == 0 && add(&nodes[1], graph, NULL, 0) == 0);
    CHECK(depend(graph, &nodes[0], &nodes[1], 1) == 0);
    CHECK(edges(graph, from, to, &count) == 0 && count == 1 && from[0] == nodes[0] && to[0] == nodes[1]);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
