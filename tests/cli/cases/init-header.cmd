# A header, a namespace, a name that #if tests, __launch_bounds__; from another folder.
mkdir -p src
cp "$SPECS/init/blur.cu" "$SPECS/init/help.h" src
kiln init src/blur.cu | grep -v '^#'
kiln init src/blur.cu -o src/blur.yaml && grep '^source' src/blur.yaml && kiln tune src/blur.yaml -p FAST=0 -m 4 | grep configurations
kiln init src/blur.cu --json | head -n 2 | cut -c 1-60
# A header beside the source's folder, within that of the spec; and main() in the same file.
mkdir include
mv src/help.h include
sed 's,"help.h","../include/help.h",' src/blur.cu >src/up.cu
echo 'int main() { return puts("hello"); }' >>src/up.cu
kiln init src/up.cu -o up.yaml && kiln tune up.yaml -p FAST=0 -m 4 | grep configurations
# A row of a matrix for each block, whose number the kernel does not know.
cat >rows.cu <<'END'
#include "help.h"
__global__ void rows(const float *x, float *y, int columns)
{
    int row = blockIdx.x;
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += x[(size_t)row * columns + c];
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        y[(size_t)row * columns + c] = x[(size_t)row * columns + c] / sum;
}
END
kiln init rows.cu -o rows.yaml -I include && sed -n '/^sizes/,/^$/p; /^buffers/,/^$/p; /^launch/,$p' rows.yaml
kiln tune rows.yaml -I include -q | grep configurations
