// memory.cu - the driver's copy of as many bytes as the increments read and write.
#include "peer.h"

int main()
{
    struct { const char *work; size_t count; } sizes[] = {
        {"default", size_t(1) << 28}, {"n24", size_t(1) << 24}, {"n20", size_t(1) << 20}};
    for (auto size : sizes) {
        unsigned *x = peer::random_words<unsigned>(size.count), *y = peer::allocate<unsigned>(size.count);
        const double seconds = peer::median_seconds(8 * size.count, [&] {
            CHECK(cudaMemcpyAsync(y, x, 4 * size.count, cudaMemcpyDeviceToDevice));
        });
        peer::report("memory", size.work, "cudaMemcpy", seconds, 8.0 * size.count);
        CHECK(cudaFree(x));
        CHECK(cudaFree(y));
    }
    return 0;
}
