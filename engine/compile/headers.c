/* headers.c - headers of the host, which NVRTC lacks. Many sources include headers of the host. So Kiln provides small
 * replacements for these headers, or uses the headers of libcu++. If a source includes a header of the host that Kiln
 * lacks, Kiln adds the remedy to the error message. */
#include <stdio.h>
#include <string.h>

#include "compile_internal.h"

/* ---- headers that Kiln provides ----
 *
 * If headers of libcu++ exist, Kiln uses them, because libcu++ defines the same names unconditionally. In each text
 * below, one line of C is one line of the header. */
// clang-format off
#define ONCE "#pragma once\n"
#define STD(of, names) ONCE "#include <" of ">\nnamespace std {\n" names "}\n"
#define USING(name) "using ::" #name ";\n"
#define IF_NONE(name, value) "#ifndef " #name "\n#define " #name " " value "\n#endif\n"
#define IF_THERE(name) "#if __has_include(<" name ">)\n#include <" name ">\n#endif\n"

#define INTS(bits, type, most, twice, end)                                                                             \
    "typedef signed " type " int" bits "_t, int_least" bits "_t, int_fast" bits "_t;\n"                                \
    "typedef unsigned " type " uint" bits "_t, uint_least" bits "_t, uint_fast" bits "_t;\n"                           \
    "#define INT" bits "_MAX " most end "\n"                                                                           \
    "#define INT" bits "_MIN (-INT" bits "_MAX - 1)\n"                                                                 \
    "#define UINT" bits "_MAX " twice "\n"

#define STDINT(long)                                                                                                   \
    INTS("8", "char", "127", "255", "")                                                                                \
    INTS("16", "short", "32767", "65535", "")                                                                          \
    INTS("32", "int", "2147483647", "4294967295u", "")                                                                 \
    INTS("64", long, "9223372036854775807", "18446744073709551615ull", "ll")                                           \
    "typedef " long " intptr_t, intmax_t;\n"                                                                           \
    "typedef unsigned " long " uintptr_t, uintmax_t;\n"                                                                \
    "#define SIZE_MAX UINT64_MAX\n"
static const char stdint_text[] = ONCE
    "#if __has_include(<cuda/std/cstdint>)\n"
    "#include <cuda/std/cstdint>\n"
    "#else\n"
    STDINT("long long")
    "#endif\n";
static const char cstdint_text[] =
    STD("stdint.h", USING(int8_t) USING(int16_t) USING(int32_t) USING(int64_t)
                    USING(uint8_t) USING(uint16_t) USING(uint32_t) USING(uint64_t)
                    USING(intptr_t) USING(uintptr_t) USING(intmax_t) USING(uintmax_t));

#define LIMITS \
    "#define CHAR_BIT 8\n" \
    "#define SCHAR_MAX 127\n" \
    "#define SCHAR_MIN (-128)\n" \
    "#define UCHAR_MAX 255\n" \
    "#define CHAR_MAX SCHAR_MAX\n" \
    "#define CHAR_MIN SCHAR_MIN\n" \
    "#define SHRT_MAX 32767\n" \
    "#define SHRT_MIN (-32768)\n" \
    "#define USHRT_MAX 65535\n" \
    "#define INT_MAX 2147483647\n" \
    "#define INT_MIN (-INT_MAX - 1)\n" \
    "#define UINT_MAX 4294967295u\n" \
    "#define LONG_MAX 9223372036854775807l\n" \
    "#define LONG_MIN (-LONG_MAX - 1)\n" \
    "#define ULONG_MAX 18446744073709551615ul\n" \
    "#define LLONG_MAX 9223372036854775807ll\n" \
    "#define LLONG_MIN (-LLONG_MAX - 1)\n" \
    "#define ULLONG_MAX 18446744073709551615ull\n"
static const char limits_text[] = ONCE
    "#if __has_include(<cuda/std/climits>)\n"
    "#include <cuda/std/climits>\n"
    "#else\n"
    LIMITS
    "#endif\n";

static const char float_text[] = ONCE
    IF_NONE(FLT_RADIX, "2")
    IF_NONE(FLT_MANT_DIG, "24")
    IF_NONE(FLT_DIG, "6")
    IF_NONE(FLT_MIN_EXP, "(-125)")
    IF_NONE(FLT_MAX_EXP, "128")
    IF_NONE(FLT_MAX, "3.402823466385288598e+38f")
    IF_NONE(FLT_MIN, "1.175494350822287508e-38f")
    IF_NONE(FLT_EPSILON, "1.192092895507812500e-07f")
    IF_NONE(DBL_MANT_DIG, "53")
    IF_NONE(DBL_DIG, "15")
    IF_NONE(DBL_MIN_EXP, "(-1021)")
    IF_NONE(DBL_MAX_EXP, "1024")
    IF_NONE(DBL_MAX, "1.79769313486231570815e+308")
    IF_NONE(DBL_MIN, "2.22507385850720138309e-308")
    IF_NONE(DBL_EPSILON, "2.22044604925031308085e-16");

/* NVRTC defines the functions of math.h itself. */
static const char math_text[] = ONCE
    IF_NONE(INFINITY, "(1.0f / 0.0f)")
    IF_NONE(NAN, "(__int_as_float(0x7fffffff))")
    IF_NONE(HUGE_VALF, "(1.0f / 0.0f)")
    IF_NONE(HUGE_VAL, "(1.0 / 0.0)")
    IF_NONE(M_E, "2.7182818284590452354")
    IF_NONE(M_LOG2E, "1.4426950408889634074")
    IF_NONE(M_LOG10E, "0.43429448190325182765")
    IF_NONE(M_LN2, "0.69314718055994530942")
    IF_NONE(M_LN10, "2.30258509299404568402")
    IF_NONE(M_PI, "3.14159265358979323846")
    IF_NONE(M_PI_2, "1.57079632679489661923")
    IF_NONE(M_PI_4, "0.78539816339744830962")
    IF_NONE(M_1_PI, "0.31830988618379067154")
    IF_NONE(M_2_PI, "0.63661977236758134308")
    IF_NONE(M_2_SQRTPI, "1.12837916709551257390")
    IF_NONE(M_SQRT2, "1.41421356237309504880")
    IF_NONE(M_SQRT1_2, "0.70710678118654752440");
static const char cmath_text[] =
    STD("math.h", USING(abs) USING(fabs) USING(sqrt) USING(cbrt) USING(hypot) USING(exp) USING(exp2) USING(expm1)
                  USING(log) USING(log2) USING(log10) USING(log1p) USING(pow) USING(sin) USING(cos) USING(tan)
                  USING(asin) USING(acos) USING(atan) USING(atan2) USING(sinh) USING(cosh) USING(tanh) USING(asinh)
                  USING(acosh) USING(atanh) USING(floor) USING(ceil) USING(round) USING(lround) USING(llround)
                  USING(trunc) USING(rint) USING(nearbyint) USING(fmod) USING(remainder) USING(fmin) USING(fmax)
                  USING(fdim) USING(fma) USING(erf) USING(erfc) USING(tgamma) USING(lgamma) USING(copysign)
                  USING(ldexp) USING(frexp) USING(modf) USING(logb) USING(ilogb) USING(scalbn) USING(nextafter)
                  USING(isnan) USING(isinf) USING(isfinite) USING(signbit));

/* Types of the driver API that kernels take as parameters. The rest of cuda.h is for the host. */
static const char cuda_text[] = ONCE
    IF_NONE(CUDA_VERSION, "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)")
    "typedef unsigned long long CUdeviceptr;\n"
    "typedef int CUdevice;\n"
    "typedef struct CUctx_st *CUcontext;\n"
    "typedef struct CUstream_st *CUstream;\n"
    "typedef unsigned long long CUtexObject, CUsurfObject;\n"
    "struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };\n"
    "typedef struct CUtensorMap_st CUtensorMap;\n";

/* The part of CUB that a kernel can use: the functions of blocks and warps. The complete header also contains functions
 * by which the host launches kernels. */
static const char cub_text[] = ONCE
    IF_THERE("cub/block/block_adjacent_difference.cuh")
    IF_THERE("cub/block/block_discontinuity.cuh")
    IF_THERE("cub/block/block_exchange.cuh")
    IF_THERE("cub/block/block_histogram.cuh")
    IF_THERE("cub/block/block_load.cuh")
    IF_THERE("cub/block/block_merge_sort.cuh")
    IF_THERE("cub/block/block_radix_sort.cuh")
    IF_THERE("cub/block/block_reduce.cuh")
    IF_THERE("cub/block/block_run_length_decode.cuh")
    IF_THERE("cub/block/block_scan.cuh")
    IF_THERE("cub/block/block_shuffle.cuh")
    IF_THERE("cub/block/block_store.cuh")
    IF_THERE("cub/warp/warp_exchange.cuh")
    IF_THERE("cub/warp/warp_load.cuh")
    IF_THERE("cub/warp/warp_merge_sort.cuh")
    IF_THERE("cub/warp/warp_reduce.cuh")
    IF_THERE("cub/warp/warp_scan.cuh")
    IF_THERE("cub/warp/warp_store.cuh")
    IF_THERE("cub/thread/thread_load.cuh")
    IF_THERE("cub/thread/thread_store.cuh")
    IF_THERE("cub/thread/thread_operators.cuh")
    /* CUB 3 omits the following names, which sources for earlier versions of CUB use. */
    IF_THERE("cub/version.cuh")
    "#if defined(CUB_MAJOR_VERSION) && CUB_MAJOR_VERSION >= 3\n"
    "namespace cub {\n"
    "struct Sum { template <class T> __device__ __forceinline__ T operator()(const T &a, const T &b) const { return a + b; } };\n"
    "struct Max { template <class T> __device__ __forceinline__ T operator()(const T &a, const T &b) const { return b > a ? b : a; } };\n"
    "struct Min { template <class T> __device__ __forceinline__ T operator()(const T &a, const T &b) const { return b < a ? b : a; } };\n"
    "}\n"
    "#endif\n";

/* std::min() or std::max(): with other compilers nearly all C++ headers declare both functions. */
#define MIN_OR_MAX(name, which)                                                                                        \
    "template <class T> __host__ __device__ constexpr const T &" name "(const T &a, const T &b) { return " which "; }\n"
static const char algobase_text[] = ONCE "namespace std {\n" MIN_OR_MAX("min", "b < a ? b : a")
                                    MIN_OR_MAX("max", "a < b ? b : a") "}\n";

/* Includes a header of libcu++ and makes its names visible in std::. Names that NVRTC or Kiln's headers define in std::
 * take precedence. */
#define OF_LIBCUDACXX(name)                                                                                            \
    "#if __has_include(<cuda/std/" name ">)\n#include <cuda/std/" name ">\n"                                           \
    "namespace std { using namespace ::cuda::std; }\n#endif\n"
/* Headers that at least one version of libcu++ has. */
#define LIBCUDACXX_HEADERS(X)                                                                                          \
    X("array") X("atomic") X("barrier") X("bit") X("bitset") X("chrono") X("complex") X("concepts")      \
    X("ctime") X("exception") X("expected") X("functional") X("initializer_list") X("iterator") X("latch") X("limits")  \
    X("mdspan") X("memory") X("numbers") X("numeric") X("optional") X("ranges") X("ratio") X("semaphore")               \
    X("source_location") X("span") X("string_view") X("tuple") X("type_traits") X("utility") X("variant") X("version")
/* Headers that are useless in a kernel. Many sources with kernels include these headers nevertheless. */
#define HOST_HEADERS(X)                                                                                                \
    X("cctype") X("cerrno") X("condition_variable") X("cstdarg") X("deque") X("filesystem") X("forward_list")           \
    X("fstream") X("future") X("iomanip") X("ios") X("iosfwd") X("iostream") X("istream") X("list") X("locale")         \
    X("map") X("mutex") X("new") X("ostream") X("queue") X("random") X("regex") X("set") X("shared_mutex")              \
    X("sstream") X("stack") X("stdexcept") X("streambuf") X("string") X("thread") X("typeinfo") X("unordered_map")      \
    X("unordered_set") X("valarray") X("vector")

static const struct {
    const char *name, *text;
} own[] = {
    {"stdint.h", stdint_text},
    {"inttypes.h", ONCE "#include <stdint.h>\n"},
    {"cstdint", cstdint_text},
    {"cinttypes", ONCE "#include <cstdint>\n"},
    {"limits.h", limits_text},
    {"climits", ONCE "#include <limits.h>\n"},
    {"float.h", float_text},
    {"cfloat", ONCE "#include <float.h>\n"},
    {"math.h", math_text},
    {"cmath", cmath_text},
    {"stddef.h", ONCE "#ifndef offsetof\n#define offsetof(type, member) __builtin_offsetof(type, member)\n#endif\n"},
    {"cstddef", STD("stddef.h", USING(size_t) USING(ptrdiff_t) "typedef decltype(nullptr) nullptr_t;\n")},
    {"stdbool.h", ONCE},
    /* NVRTC defines the functions of these headers, and the macro assert. */
    {"stdio.h", ONCE},
    {"cstdio", STD("stdio.h", USING(printf))},
    {"sys/types.h", ONCE "typedef unsigned short ushort;\ntypedef unsigned int uint;\n"},
    {"stdlib.h", ONCE "#include <sys/types.h>\n"}, /* glibc's stdlib.h includes sys/types.h too */
    {"cstdlib", STD("stdlib.h", USING(size_t) USING(abs) USING(malloc) USING(free))},
    {"string.h", ONCE},
    {"cstring", STD("string.h", USING(size_t) USING(memcpy) USING(memset))},
    {"assert.h", ONCE},
    {"cassert", ONCE},
    {"cuda.h", cuda_text},
    {"cub/cub.cuh", cub_text},
    {"bits/stl_algobase.h", algobase_text},
    {"algorithm", ONCE "#include <bits/stl_algobase.h>\n" OF_LIBCUDACXX("algorithm")},
#define X(name) {name, ONCE OF_LIBCUDACXX(name)},
    LIBCUDACXX_HEADERS(X)
#undef X
#define X(name) {name, ONCE "#include <bits/stl_algobase.h>\n"},
    HOST_HEADERS(X)
#undef X
    {"errno.h", ONCE},
    {"signal.h", ONCE},
    {"stdarg.h", ONCE},
    {"sys/time.h", ONCE},
    {"time.h", ONCE},
    {"unistd.h", ONCE},
};
// clang-format on

/* ---- empty headers in place of libraries of the host ----
 *
 * A source for nvcc includes the headers of the libraries that its host functions call. NVRTC compiles only kernels, so
 * these headers need no declarations. If a kernel uses a name of such a library nevertheless, kiln__header_hints()
 * names the empty headers in the message. */

static const char empty_text[] = "#pragma once\n/* empty: a header of the host */\n";
/* cublas_api.h includes the headers of CUDA's 16-bit types, and sources rely on that. */
static const char cublas_text[] = ONCE "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <stdint.h>\n";
/* PyTorch has names of its own for CUDA's 16-bit types, for its atomic addition and for its warp functions
 * (ATen/cuda/DeviceUtils.cuh). Kernels use these names, so the text defines them. */
static const char torch_text[] = ONCE
    "#ifndef KILN_TORCH_TYPES\n"
    "#define KILN_TORCH_TYPES\n"
    "#include <cuda_fp16.h>\n"
    "#include <cuda_bf16.h>\n"
    "#include <stdint.h>\n"
    "namespace c10 { typedef ::__half Half; typedef ::__nv_bfloat16 BFloat16; }\n"
    "namespace at { using c10::Half; using c10::BFloat16; }\n"
    "namespace torch { using c10::Half; using c10::BFloat16; }\n"
    "template <class T> __device__ __forceinline__ T gpuAtomicAdd(T *to, T value) { return atomicAdd(to, value); }\n"
    "template <class T> __device__ __forceinline__ void gpuAtomicAddNoReturn(T *to, T value) { atomicAdd(to, value); }\n"
    "#define KILN_TORCH_SHUFFLE(NAME, FUNCTION, OTHER) \\\n"
    "template <class T> __device__ __forceinline__ T NAME(T value, OTHER other, int width = warpSize, "
    "unsigned mask = 0xffffffff) { return FUNCTION(mask, value, other, width); }\n"
    "KILN_TORCH_SHUFFLE(WARP_SHFL, __shfl_sync, int)\n"
    "KILN_TORCH_SHUFFLE(WARP_SHFL_XOR, __shfl_xor_sync, int)\n"
    "KILN_TORCH_SHUFFLE(WARP_SHFL_UP, __shfl_up_sync, unsigned)\n"
    "KILN_TORCH_SHUFFLE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned)\n"
    "#undef KILN_TORCH_SHUFFLE\n"
    "__device__ __forceinline__ unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) "
    "{ return __ballot_sync(mask, predicate); }\n"
    "#endif\n";

/* Names of headers. An entry that ends with '/' or '*' stands for all names that begin like it. */
static const char *const torch_names[] = {"torch/", "ATen/", "c10/", "THC/"};
static const char *const cublas_names[] = {"cublas_v2.h", "cublas.h", "cublasLt.h", "cublas_api.h"};
static const char *const empty_names[] = {
    "cublas*",
    "cudnn*",
    "cufft*",
    "cusparse*",
    "cusolver*",
    "cutensor*",
    "curand.h",
    "nccl.h",
    "nvml.h",
    "npp*",
    "nvjpeg.h",
    "nvToolsExt.h",
    "nvtx3/",
    "cuda_profiler_api.h",
    "cudaTypedefs.h",
    "cudaProfiler.h",
    "cuda_runtime_api.h",
    "cudaGL.h",
    "cuda_gl_interop.h",
    "nvrtc.h",
    "mpi.h",
    "omp.h",
    "Python.h",
    "pybind11/",
    "numpy/",
    "gtest/",
    "gmock/",
    "benchmark/",
    "catch2/",
    "glog/",
    "gflags/",
    "fmt/",
    "spdlog/",
    "opencv2/",
    "opencv/",
    "Eigen/",
    "boost/",
    "absl/",
    "GL/",
    "GLFW/",
    "tensorflow/",
    "paddle/",
    "tvm/",
    "dlpack/",
    "nlohmann/",
    "hdf5.h",
    "png.h",
    "pthread.h",
    "dlfcn.h",
    "fcntl.h",
    "sys/stat.h",
    "sys/mman.h",
    "sys/ioctl.h",
    "sys/resource.h",
    "sys/syscall.h",
    "sys/wait.h",
    "sched.h",
    "strings.h",
    "getopt.h",
    "dirent.h",
    "x86intrin.h",
    "immintrin.h",
    "execution",
    "thrust/host_vector.h",
    "thrust/device_vector.h",
    "thrust/sort.h",
    "thrust/device_ptr.h",
};

static bool is_listed(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        char last = names[i][length - 1];
        if (last == '/' || last == '*' ? strncmp(names[i], name, length - (last == '*')) == 0
                                       : strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

const char *kiln__header_own(const char *name)
{
    for (size_t i = 0; i < KILN__COUNT(own); i++)
        if (strcmp(own[i].name, name) == 0)
            return own[i].text;
    if (is_listed(torch_names, KILN__COUNT(torch_names), name))
        return torch_text;
    if (is_listed(cublas_names, KILN__COUNT(cublas_names), name))
        return cublas_text;
    return is_listed(empty_names, KILN__COUNT(empty_names), name) ? empty_text : NULL;
}

bool kiln__header_is_of_host(const char *text)
{
    return strcmp(text, empty_text) == 0 || strcmp(text, torch_text) == 0 || strcmp(text, cublas_text) == 0;
}

/* ---- headers that nvcc includes although the source does not ----
 *
 * nvcc includes cuda_runtime.h before every source, and cuda_runtime.h includes <math.h>, <stdlib.h> and other headers.
 * So sources use INFINITY or uint32_t without an #include. The texts below contain no #include, because the cache key
 * would not cover the included headers. */

/* Names that other compilers declare without an #include, and the header that has them. */
// clang-format off
static const struct {
    const char *name, *header;
} implied_names[] = {
    {"INFINITY", "math.h"},      {"NAN", "math.h"},           {"HUGE_VALF", "math.h"},    {"HUGE_VAL", "math.h"},
    {"M_PI", "math.h"},          {"M_PI_2", "math.h"},        {"M_E", "math.h"},          {"M_LN2", "math.h"},
    {"M_LOG2E", "math.h"},       {"M_SQRT2", "math.h"},       {"M_SQRT1_2", "math.h"},    {"M_2_SQRTPI", "math.h"},
    {"FLT_MAX", "float.h"},      {"FLT_MIN", "float.h"},      {"FLT_EPSILON", "float.h"},
    {"DBL_MAX", "float.h"},      {"DBL_MIN", "float.h"},      {"DBL_EPSILON", "float.h"},
    {"CHAR_BIT", "limits.h"},    {"INT_MAX", "limits.h"},     {"INT_MIN", "limits.h"},    {"UINT_MAX", "limits.h"},
    {"LLONG_MAX", "limits.h"},   {"ULLONG_MAX", "limits.h"},
    {"int8_t", "stdint.h"},      {"int16_t", "stdint.h"},     {"int32_t", "stdint.h"},    {"int64_t", "stdint.h"},
    {"uint8_t", "stdint.h"},     {"uint16_t", "stdint.h"},    {"uint32_t", "stdint.h"},   {"uint64_t", "stdint.h"},
    {"intptr_t", "stdint.h"},    {"uintptr_t", "stdint.h"},   {"UINT32_MAX", "stdint.h"}, {"INT32_MAX", "stdint.h"},
    {"uint", "sys/types.h"},     {"ushort", "sys/types.h"},
    {"cudaGridDependencySynchronize", "cuda_device_runtime_api.h"},
    {"cudaTriggerProgrammaticLaunchCompletion", "cuda_device_runtime_api.h"},
};
/* Names of std:: that sources get from headers of PyTorch and other libraries without an #include of their own. */
static const char *const implied_std[] = {
    "conditional", "conditional_t", "enable_if", "enable_if_t", "is_same", "is_same_v", "remove_reference",
    "remove_reference_t", "remove_const", "remove_const_t", "integral_constant", "true_type", "false_type",
};
#define TRAIT(head, name, body) "template <" head "> struct " name " { " body " };\n"
#define TRAIT_T(head, name, arguments) \
    "template <" head "> using " name "_t = typename " name "<" arguments ">::type;\n"
#define LINE(text) text ";\n"
static const char implied_traits[] = "namespace std {\n"
    TRAIT("class T, T V", "integral_constant", LINE("static constexpr T value = V") LINE("typedef T value_type")
          LINE("typedef integral_constant type") "__host__ __device__ constexpr operator T() const { return V; }")
    LINE("typedef integral_constant<bool, true> true_type") LINE("typedef integral_constant<bool, false> false_type")
    TRAIT("bool B, class T, class F", "conditional", "typedef T type;")
    TRAIT("class T, class F", "conditional<false, T, F>", "typedef F type;")
    TRAIT_T("bool B, class T, class F", "conditional", "B, T, F")
    TRAIT("bool B, class T = void", "enable_if", "")
    TRAIT("class T", "enable_if<true, T>", "typedef T type;")
    TRAIT_T("bool B, class T = void", "enable_if", "B, T")
    TRAIT("class A, class B", "is_same", "static constexpr bool value = false;")
    TRAIT("class A", "is_same<A, A>", "static constexpr bool value = true;")
    "template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;\n"
    TRAIT("class T", "remove_reference", "typedef T type;")
    TRAIT("class T", "remove_reference<T &>", "typedef T type;")
    TRAIT("class T", "remove_reference<T &&>", "typedef T type;")
    TRAIT_T("class T", "remove_reference", "T")
    TRAIT("class T", "remove_const", "typedef T type;")
    TRAIT("class T", "remove_const<const T>", "typedef T type;")
    TRAIT_T("class T", "remove_const", "T")
    "}\n";
/* The functions that order grids that depend on each other. nvcc declares them for kernels. */
static const char implied_dependency[] =
    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n"
    "static __device__ __forceinline__ void cudaGridDependencySynchronize() "
    "{ asm volatile(\"griddepcontrol.wait;\" ::: \"memory\"); }\n"
    "static __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() "
    "{ asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\"); }\n"
    "#endif\n";
static const char implied_stdint[] = STDINT("long");
static const char implied_limits[] = LIMITS;
// clang-format on

const char *kiln__header_implied(const char *log, const char **text)
{
    static const char before[] = "error: identifier \"";
    for (const char *at = log; (at = strstr(at, before)) != NULL; at++) {
        const char *name = at + sizeof before - 1;
        for (size_t i = 0; i < KILN__COUNT(implied_names); i++) {
            size_t length = strlen(implied_names[i].name);
            if (strncmp(name, implied_names[i].name, length) != 0 || name[length] != '"')
                continue;
            const char *header = implied_names[i].header;
            *text = strcmp(header, "stdint.h") == 0    ? implied_stdint
                    : strcmp(header, "limits.h") == 0  ? implied_limits
                    : strncmp(header, "cuda_", 5) == 0 ? implied_dependency
                                                       : kiln__header_own(header);
            return header;
        }
    }
    static const char of_std[] = "error: namespace \"std\" has no member \"";
    for (const char *at = log; (at = strstr(at, of_std)) != NULL; at++) {
        const char *name = at + sizeof of_std - 1;
        for (size_t i = 0; i < KILN__COUNT(implied_std); i++)
            if (strncmp(name, implied_std[i], strlen(implied_std[i])) == 0 && name[strlen(implied_std[i])] == '"') {
                *text = implied_traits;
                return "type_traits";
            }
    }
    return NULL;
}

/* ---- advice for a missing header or name ---- */

#define OUT "between #ifndef __CUDACC_RTC__ and #endif"
#define KEEP_OUT "put it, and the code that needs it, " OUT

/* Types that CUDA's own headers declare. No compiler knows them without the #include. */
static const char *const declared_in[][2] = {
    {"half", "cuda_fp16.h"},         {"__half", "cuda_fp16.h"},          {"half2", "cuda_fp16.h"},
    {"__half2", "cuda_fp16.h"},      {"__nv_bfloat16", "cuda_bf16.h"},   {"__nv_bfloat162", "cuda_bf16.h"},
    {"__nv_fp8_e4m3", "cuda_fp8.h"}, {"__nv_fp8_e5m2", "cuda_fp8.h"},    {"cuFloatComplex", "cuComplex.h"},
    {"cuComplex", "cuComplex.h"},    {"cuDoubleComplex", "cuComplex.h"},
};

/* Copies the quoted text that follows `before` to room[], at most size - 1 bytes. Returns the place of `before` in the
 * log, or NULL if `before` is not found or the quoted text is too long. */
static const char *find_quoted(const char *log, const char *before, char *room, size_t size)
{
    const char *at = strstr(log, before);
    size_t length = at ? strcspn(at + strlen(before), "\"\n") : 0;
    if (length == 0 || length >= size)
        return NULL;
    memcpy(room, at + strlen(before), length);
    room[length] = '\0';
    return at;
}

/* Advises about a missing header. `at` is the message about the header in the log. */
static void advise_missing_header(kiln__text *text, const char *include, const char *log, const char *at,
                                  const char *name)
{
    while (at > log && at[-1] != '\n')
        at--;
    bool in_cuda = *include && strncmp(at, include, strlen(include)) == 0;
    if (in_cuda)
        kiln__text_printf(text,
                          "(a header of CUDA needs <%s> of the host, so this header is for host code, which is not "
                          "compiled with kernels; " KEEP_OUT ")\n",
                          name);
    else
        kiln__text_printf(
            text,
            "(%s was searched beside the file that includes it, beside the source, in the folders of "
            "'include:' in the spec, of -I, of $KILN_PATH and $KILN_INCLUDE, and in CUDA's headers%s%s: "
            "name its folder by one of these; if only the host needs it, kiln init --stub %s makes an empty one)\n",
            name, *include ? ", " : ", which were not found", include, name);
}

/* Kiln replaces some headers of the host by empty headers. If the log has an error about an unknown name, the function
 * lists the empty headers in the advice, because an original header may declare the name. */
static void advise_empty_headers(kiln__text *text, const kiln__include *headers, size_t count, const char *log)
{
    static const char *const messages[] = {"is undefined", "must be a class or namespace name", "has no member \"",
                                           "is not a template", "this declaration has no storage class"};
    bool missing = false, first = true;
    for (size_t i = 0; i < KILN__COUNT(messages); i++)
        missing |= strstr(log, messages[i]) != NULL;
    for (size_t i = 0; missing && i < count; i++) {
        if (!kiln__header_is_of_host(headers[i].text))
            continue;
        kiln__text_printf(text, first ? "(%s" : ", %s", headers[i].name);
        first = false;
    }
    if (!first)
        kiln__text_puts(
            text,
            ": Kiln does not have these libraries of the host, and replaces the headers by empty ones. If the kernel "
            "needs a name that one of them declares, give the folder of the library with -I, or "
            "write a header of this name that declares it: kiln init --stub NAME makes an empty "
            "one)\n");
}

/* Looks for known messages of NVRTC in the log, and adds advice for each kind that it finds. If it gave advice about a
 * missing header or a missing #include of CUDA (`told`), it omits the advice about std::, empty headers and host
 * functions. */
void kiln__header_hints(kiln__text *text, const char *include, const kiln__include *headers, size_t header_count,
                        const char *log)
{
    char name[256];
    const char *at = find_quoted(log, "open source file \"", name, sizeof name);
    if (at)
        advise_missing_header(text, include, log, at, name);
    bool told = at != NULL;
    for (at = log; !told && (at = strstr(at, "error: ")) != NULL; at++) {
        bool known = find_quoted(at, "error: identifier \"", name, sizeof name) == at;
        for (size_t i = 0; known && i < KILN__COUNT(declared_in) && !told; i++)
            if (strcmp(declared_in[i][0], name) == 0) {
                kiln__text_printf(text, "(%s needs #include <%s>)\n", name, declared_in[i][1]);
                told = true;
            }
    }
    if (!told && find_quoted(log, "error: namespace \"std\" has no member \"", name, sizeof name))
        kiln__text_printf(
            text,
            "(std::%s: in a kernel, std:: has only the names that libcu++ has in cuda::std::, after an #include of their "
            "header; min() and max() also exist without std::. Put code for the host " OUT ")\n",
            name);
    at = find_quoted(log, "error   : Instruction '", name, sizeof name);
    if (at && strstr(at, "not supported on .target 'sm_90'") &&
        (strncmp(name, "wgmma", 5) == 0 || strncmp(name, "setmaxnreg", 10) == 0))
        kiln__text_puts(text, "(give the spec 'target: [sm_90a]': only that target has this instruction)\n");
    if (!told)
        advise_empty_headers(text, headers, header_count, log);
    if (!told && strstr(log, "as a __host__ function"))
        kiln__text_puts(text, "(only code for the device is compiled: put code for the host " OUT ")\n");
}
