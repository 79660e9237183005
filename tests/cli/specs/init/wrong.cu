__global__ void f(float *x) { x[0] = y; z(); }
