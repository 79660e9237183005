// spec: transpose
// wrong tile-end: && above + 64 <= rows => && rows > 64
// Tiles of 64 rows. A whole tile of a narrow matrix is read without a test of each row, if rows have whole quadruples.
extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns)
{
    const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y, above = blockIdx.y / 4 * 64;
    if (c >= columns)
        return;
    const bool whole = columns % 4 == 0 && columns < 24 && above + 64 <= rows;
    const float value = whole || r < rows ? x[(size_t)r * columns + c] : 0;
    if (r < rows)
        y[(size_t)c * rows + r] = value;
}
