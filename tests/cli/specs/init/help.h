__device__ inline int clamp(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
