struct P { float a; int n; };
__global__ void f(P p, float *x) { x[threadIdx.x] = p.a; }
__global__ void g(float4 v, float4 *x) { x[threadIdx.x] = v; }
__global__ void nothing() {}
__global__ void baked(float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < N) x[i] *= 2; }
__global__ void h(float **x) { x[0][0] = 1; }
