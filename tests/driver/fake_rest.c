/* The rest of the fake driver: every function that the table needs, under the name that cuda.h maps it to. The
 * definitions are weak, so the definitions in fake_cuda.c take precedence. */
#include "driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define DEFINE_0(name, signature)
#define DEFINE_1(name, signature)                                                                                      \
    __attribute__((weak, visibility("default"))) CUresult CUDAAPI name signature { return CUDA_ERROR_NOT_SUPPORTED; }
#define KILN_X(name, signature, required) DEFINE_##required(name, signature)
KILN__DRIVER_MAP(KILN_X)
#undef KILN_X
