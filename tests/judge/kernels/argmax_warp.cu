// spec: argmax
// wrong any-of-equals: (other == value && there < place) => (other == value && there > place)
// wrong no-ties:  || (other == value && there < place) => 
// wrong last-of-equals: from[i] > value) => from[i] >= value)
// wrong start-at-zero: value = -INFINITY => value = 0
// wrong minimum: from[i] > value) => from[i] < value)
// wrong columns: i < columns; => i < columns - 1;
// wrong magnitude: from[i] > value) {\n            value = from[i]; => fabsf(from[i]) > value) {\n            value = fabsf(from[i]);
// One warp; the smaller place wins among equal values.
extern "C" __global__ void argmax(const float *x, int *y, int rows, int columns)
{
    const float *from = x + (size_t)blockIdx.x * columns;
    if (threadIdx.x >= 32)
        return;
    float value = -INFINITY;
    int place = 0x7fffffff;
    for (int i = threadIdx.x; i < columns; i += 32)
        if (from[i] > value) {
            value = from[i];
            place = i;
        }
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, step);
        const int there = __shfl_xor_sync(0xffffffffu, place, step);
        if (other > value || (other == value && there < place)) {
            value = other;
            place = there;
        }
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = place;
}
