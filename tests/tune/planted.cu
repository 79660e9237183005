/* Kernels that fail as their configuration says. */
#define good 0
#define compile_error 1
#define compiler_crash 2
#define compiler_hang 3
#define illegal_address 4
#define misaligned_address 5
#define endless 6
#define wrong_answer 7
#define runner_killed 8
#define compiler_killed 9
#define compiler_killed_once 10
#define runner_killed_once 11

extern "C" __global__ void planted(const float *x, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if KIND == compile_error
    undeclared = i;
#elif KIND == illegal_address
    z[i + (1ll << 44)] = 1;
#elif KIND == misaligned_address
    *(float *)((char *)z + 4 * (size_t)i + 1) = 1;
#elif KIND == endless
    volatile float *flag = z;
    int looks = 0; /* the loop does not only repeat itself, which would be a deadlock */
    while (flag[i] != 12345678.0f)
        looks++;
    flag[i] = looks;
#endif
    if (i < n)
        z[i] = KIND == wrong_answer ? x[i] + 1 : x[i] * 2;
}
