/* A program that calls Kiln's cuBLAS, cuBLASLt and cuRAND. It requests results of types that they cannot write, and
 * tests scalars, biases and limits as in NVIDIA's guides. $KILN_BLAS is fake_blas.so. The program prints each error,
 * and its exit code is then 1. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "../program.h"

enum { DONE = 0, INVALID = 7, NOT_SUPPORTED = 15 }; /* cublasStatus_t */
enum { OUT_OF_RANGE = 104 };                        /* curandStatus_t */
enum { FLOATS = 0, BYTES = 3, INTEGERS = 10, E4M3 = 28, E5M2 = 29, COMPUTE_FLOATS = 68, COMPUTE_INTEGERS = 72 };
enum { PLAIN = 1, ADD_BIAS = 4, GELU_AUX = 160, SUM_A = 256 }; /* cublasLtEpilogue_t */
enum { ROOM = 4096, ONE_E4M3 = 0x38, TWO_BFLOAT = 0x4000 };

static void *handle, *blas, *lt;
static CUdeviceptr memory;

/* Finds a function for the pointer `function`. */
#define FIND(library, name, function)                                                                                  \
    do {                                                                                                               \
        void *found_ = dlsym(library, name);                                                                           \
        if (!found_) {                                                                                                 \
            fprintf(stderr, "%s: %s\n", name, dlerror());                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
        memcpy(&function, &found_, sizeof function);                                                                   \
    } while (0)

static int (*make_layout)(void **, int, uint64_t, uint64_t, int64_t), (*set_layout)(void *, int, const void *, size_t);
static int (*make_product)(void **, int, int), (*set_product)(void *, int, const void *, size_t);
static int (*free_layout)(void *), (*free_product)(void *), (*init_product)(void *, size_t, int, int);
static int (*multiply)(void *, void *, const void *, CUdeviceptr, void *, CUdeviceptr, void *, const void *,
                       CUdeviceptr, void *, CUdeviceptr, void *, void *, void *, size_t, void *);

/* A product of 1 x 1 matrices, or a batch of products of m x 1 and 1 x 1 matrices. */
typedef struct trial {
    int type, to, compute, scale; /* `type` is the type of A and B, and `to` is the type of D */
    int m, batch, pointers, epilogue, bias_type, aux_type;
    int64_t alpha_stride;
    CUdeviceptr a, b, c, d, bias, aux;
    const void *alpha, *beta;
} trial;

static void *new_layout(int type, int rows, int batch)
{
    void *layout = NULL;
    const int64_t stride = rows;
    CHECK(make_layout(&layout, type, (uint64_t)rows, 1, rows) == DONE);
    CHECK(set_layout(layout, 5, &batch, sizeof batch) == DONE);
    CHECK(set_layout(layout, 6, &stride, sizeof stride) == DONE);
    return layout;
}

static int run(const trial *t)
{
    const int m = t->m ? t->m : 1, batch = t->batch ? t->batch : 1, epilogue = t->epilogue ? t->epilogue : PLAIN;
    const int64_t ld = m;
    void *product = NULL, *a = new_layout(t->type, m, batch), *b = new_layout(t->type, 1, batch),
         *d = new_layout(t->to, m, batch);
    CHECK(make_product(&product, t->compute, t->scale) == DONE);
    CHECK(set_product(product, 2, &t->pointers, sizeof t->pointers) == DONE);
    CHECK(set_product(product, 7, &epilogue, sizeof epilogue) == DONE);
    CHECK(set_product(product, 8, &t->bias, sizeof t->bias) == DONE);
    CHECK(set_product(product, 11, &t->aux, sizeof t->aux) == DONE);
    CHECK(set_product(product, 12, &ld, sizeof ld) == DONE);
    CHECK(set_product(product, 14, &t->alpha_stride, sizeof t->alpha_stride) == DONE);
    if (t->aux_type)
        CHECK(set_product(product, 22, &t->aux_type, sizeof t->aux_type) == DONE);
    if (t->bias_type)
        CHECK(set_product(product, 26, &t->bias_type, sizeof t->bias_type) == DONE);
    const int code = multiply(handle, product, t->alpha, t->a, a, t->b, b, t->beta, t->c, d, t->d, d, NULL, NULL, 0,
                              NULL);
    free_product(product);
    free_layout(a);
    free_layout(b);
    free_layout(d);
    return code;
}

static CUdeviceptr put(size_t at, const void *bytes, size_t count)
{
    OK(cuMemcpyHtoD(memory + at, bytes, count));
    return memory + at;
}

static float read_float(CUdeviceptr at)
{
    float value = 0;
    OK(cuMemcpyDtoH(&value, at, sizeof value));
    return value;
}

/* Kiln's library must refuse results of types that it cannot write. */
static void refuse_types(void)
{
    const float one = 1, none = 0;
    const uint8_t bytes[] = {ONE_E4M3, ONE_E4M3};
    int (*gemm)(void *, int, int, int, int, int, const void *, CUdeviceptr, int, int, CUdeviceptr, int, int,
                const void *, CUdeviceptr, int, int, int, int);
    int (*create)(void **), (*destroy)(void *);
    void *own = NULL;
    FIND(blas, "cublasCreate_v2", create);
    FIND(blas, "cublasDestroy_v2", destroy);
    FIND(blas, "cublasGemmEx", gemm);
    CHECK(create(&own) == DONE);
    OK(cuMemsetD8(memory, 0, ROOM));
    const CUdeviceptr a = put(0, bytes, 2), d = memory + 256;
    CHECK(gemm(own, 0, 0, 1, 1, 1, &one, a, E4M3, 1, a, E4M3, 1, &none, d, E4M3, 1, COMPUTE_FLOATS, 0) ==
          NOT_SUPPORTED);
    CHECK(gemm(own, 0, 0, 1, 1, 1, &one, a, FLOATS, 1, a, FLOATS, 1, &none, d, E5M2, 1, COMPUTE_FLOATS, 0) ==
          NOT_SUPPORTED);
    CHECK(destroy(own) == DONE);
    trial t = {.type = E4M3,
               .to = FLOATS,
               .compute = COMPUTE_FLOATS,
               .a = a,
               .b = a,
               .c = d,
               .d = d,
               .alpha = &one,
               .beta = &none,
               .bias = memory + 512,
               .aux = memory + 1024,
               .epilogue = SUM_A,
               .bias_type = E4M3};
    CHECK(run(&t) == NOT_SUPPORTED);
    t.epilogue = GELU_AUX, t.bias_type = 0, t.aux_type = E5M2;
    CHECK(run(&t) == NOT_SUPPORTED);
    uint8_t after[1100];
    OK(cuMemcpyDtoH(after, memory, sizeof after));
    for (size_t k = 2; k < sizeof after; k++)
        CHECK(after[k] == 0);
}

/* Each matrix of a batch has its own vector alpha. If the host knows that beta is 0, C is not read. Otherwise C is
 * needed. */
static void use_scalars(void)
{
    const float one = 1, none = 0, values[] = {1, 1, 1, 1}, factors[] = {1, 2, 3, 4};
    const CUdeviceptr nowhere = 4096;
    const CUdeviceptr a = put(0, values, sizeof values), alpha = put(64, factors, sizeof factors), d = memory + 256;
    trial t = {.compute = COMPUTE_FLOATS,
               .m = 2,
               .batch = 2,
               .pointers = 4,
               .alpha_stride = 2,
               .a = a,
               .b = a,
               .c = nowhere,
               .d = d,
               .alpha = (const void *)alpha,
               .beta = &none};
    CHECK(run(&t) == DONE);
    for (size_t k = 0; k < 4; k++)
        CHECK(read_float(d + 4 * k) == factors[k]);
    t.pointers = 3;
    CHECK(run(&t) == INVALID);
    t.alpha_stride = 0;
    CHECK(run(&t) == DONE);
    for (size_t k = 0; k < 4; k++)
        CHECK(read_float(d + 4 * k) == factors[k % 2]);
    trial plain = {.compute = COMPUTE_FLOATS, .a = a, .b = a, .d = d, .alpha = &one, .beta = &none};
    CHECK(run(&plain) == DONE);
    plain.beta = &one;
    CHECK(run(&plain) == INVALID);
}

/* A bias has the type of D, except in products of 8 bits. */
static void add_biases(void)
{
    const float one = 1, none = 0, two = 2;
    const uint8_t fraction = ONE_E4M3, byte = 1;
    const uint16_t bias = TWO_BFLOAT;
    uint8_t result = 0;
    const CUdeviceptr d = memory + 256;
    trial t = {.type = E4M3,
               .to = FLOATS,
               .compute = COMPUTE_FLOATS,
               .epilogue = ADD_BIAS,
               .a = put(0, &fraction, 1),
               .c = d,
               .d = d,
               .alpha = &one,
               .beta = &none,
               .bias = put(512, &bias, sizeof bias)};
    t.b = t.a;
    CHECK(run(&t) == DONE);
    CHECK(read_float(d) == 3);
    t.type = t.to = BYTES, t.compute = COMPUTE_INTEGERS;
    put(0, &byte, 1);
    put(512, &two, sizeof two);
    CHECK(run(&t) == DONE);
    OK(cuMemcpyDtoH(&result, d, 1));
    CHECK(result == 3);
}

int main(void)
{
    enum { OLD_SIZE = 184 }; /* the size of a product's structure in the headers of CUDA 12.0 */
    uint8_t old[OLD_SIZE + 8];
    int (*create)(void **), (*make)(void **, int), (*free_generator)(void *);
    int (*poisson)(void *, CUdeviceptr, size_t, double);
    CUcontext context;
    void *rand = dlopen("libcurand.so.10", RTLD_NOW), *generator = NULL;
    blas = dlopen("libcublas.so.13", RTLD_NOW);
    lt = dlopen("libcublasLt.so.13", RTLD_NOW);
    if (!rand || !blas || !lt) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    FIND(lt, "cublasLtCreate", create);
    FIND(lt, "cublasLtMatrixLayoutCreate", make_layout);
    FIND(lt, "cublasLtMatrixLayoutSetAttribute", set_layout);
    FIND(lt, "cublasLtMatrixLayoutDestroy", free_layout);
    FIND(lt, "cublasLtMatmulDescCreate", make_product);
    FIND(lt, "cublasLtMatmulDescInit_internal", init_product);
    FIND(lt, "cublasLtMatmulDescSetAttribute", set_product);
    FIND(lt, "cublasLtMatmulDescDestroy", free_product);
    FIND(lt, "cublasLtMatmul", multiply);
    FIND(rand, "curandCreateGenerator", make);
    FIND(rand, "curandDestroyGenerator", free_generator);
    FIND(rand, "curandGeneratePoisson", poisson);
    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cuCtxSetCurrent(context));
    TRY(cuMemAlloc(&memory, ROOM));
    CHECK(create(&handle) == DONE);
    refuse_types();
    use_scalars();
    add_biases();
    memset(old, 0xff, sizeof old);
    CHECK(init_product(old, OLD_SIZE, COMPUTE_FLOATS, FLOATS) == DONE);
    CHECK(init_product(old, OLD_SIZE - 8, COMPUTE_FLOATS, FLOATS) == INVALID);
    for (size_t k = OLD_SIZE; k < sizeof old; k++)
        CHECK(old[k] == 0xff);
    CHECK(make(&generator, 101) == DONE);
    CHECK(poisson(generator, memory, 1, 400000) == DONE);
    CHECK(poisson(generator, memory, 1, 400001) == OUT_OF_RANGE);
    CHECK(free_generator(generator) == DONE);
    return wrong != 0;
}
