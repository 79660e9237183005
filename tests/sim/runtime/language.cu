// Tests code of nvcc on Kiln's runtime: launches, templates, symbols, managed memory, textures, barriers of a grid,
// attributes of launches, printf. Prints each error. Ends with 0 if no error occurred.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

static int wrong;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s (%s)\n", __LINE__, #condition, cudaGetErrorName(cudaPeekAtLastError()));                \
            wrong++;                                                                                                   \
        }                                                                                                              \
    } while (0)

__constant__ float factors[2];
__device__ int counter;
__managed__ int shared_with_host = 40;
extern __device__ int from_other_part(int x); // parts.cu

template <typename T> __global__ void scale(T *p, int n, T plus)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * (T)factors[0] + plus;
    atomicAdd(&counter, 1);
}

__global__ void phases(int *p, int n)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int i = (int)grid.thread_rank();
    p[i] = i;
    grid.sync();
    int other = p[(i + blockDim.x) % n];
    grid.sync();
    p[i] = other;
}

__global__ void fetch(float *p, cudaTextureObject_t texture) { p[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 1.5f); }
__global__ void talk() { printf("thread %d says %s\n", threadIdx.x, "hello"); }
__global__ void add_two() { shared_with_host += 2; }
__global__ void call_other(int *p) { *p = from_other_part(20); }

template <typename T> static void scaled()
{
    const int n = 1000;
    T host[n], *device;
    for (int i = 0; i < n; i++)
        host[i] = (T)i;
    float f[2] = {3, 0};
    int blocks = 0, threads = 0, zero = 0, count = 0;
    CHECK(cudaMemcpyToSymbol(factors, f, sizeof f) == cudaSuccess);
    CHECK(cudaMemcpyToSymbol(counter, &zero, sizeof zero) == cudaSuccess);
    CHECK(cudaMalloc(&device, sizeof host) == cudaSuccess);
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, scale<T>) == cudaSuccess && threads >= 32);
    scale<T><<<(n + 127) / 128, 128>>>(device, n, (T)1);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count) == cudaSuccess && count == 1024);
    for (int i = 0; i < n; i++)
        if (host[i] != (T)(3 * i + 1)) {
            CHECK(host[i] == (T)(3 * i + 1));
            break;
        }
    cudaFree(device);
}

static void grid_and_attributes()
{
    int *p, n = 256, host[256];
    CHECK(cudaMalloc(&p, sizeof host) == cudaSuccess);
    void *arguments[] = {&p, &n};
    CHECK(cudaLaunchCooperativeKernel((void *)phases, 4, 64, arguments, 0, 0) == cudaSuccess);
    CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(host[0] == 64 && host[255] == 63);
    cudaLaunchAttribute cooperative = {};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 4;
    config.blockDim = 64;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    CHECK(cudaMemset(p, 0, sizeof host) == cudaSuccess);
    CHECK(cudaLaunchKernelEx(&config, phases, p, n) == cudaSuccess);
    CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess && host[1] == 65);
    scale<float><<<1, 2048>>>(nullptr, 0, 1); // too many threads
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    cudaFree(p);
}

static void texture()
{
    float texels[2][8], values[8], *out;
    for (int i = 0; i < 16; i++)
        texels[i / 8][i % 8] = (float)i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaTextureObject_t object;
    CHECK(cudaMallocArray(&array, &format, 8, 2) == cudaSuccess);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 2, cudaMemcpyHostToDevice) == cudaSuccess);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    CHECK(cudaCreateTextureObject(&object, &resource, &how, nullptr) == cudaSuccess);
    CHECK(cudaMalloc(&out, sizeof values) == cudaSuccess);
    fetch<<<1, 8>>>(out, object);
    CHECK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(values[0] == 8 && values[7] == 15);
    cudaDestroyTextureObject(object);
    cudaFreeArray(array);
    cudaFree(out);
}

int main()
{
    int *p, got = 0;
    CHECK(shared_with_host == 40); // this is the first use of the runtime in the process
    scaled<float>();
    scaled<int>();
    grid_and_attributes();
    texture();
    add_two<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize() == cudaSuccess && shared_with_host == 42);
    talk<<<1, 2>>>();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaMallocManaged(&p, sizeof *p) == cudaSuccess);
    call_other<<<1, 1>>>(p);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    got = *p;
    CHECK(got == 41);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
