// A part of language.cu that is linked on the device.
__device__ int from_other_part(int x) { return 2 * x + 1; }
