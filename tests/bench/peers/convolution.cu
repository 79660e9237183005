// convolution.cu - cuDNN's forward convolution of one image of one channel, in full single precision (CUDNN_FMA_MATH:
// no tensor cores). Like the spec's convolution it is a cross-correlation. cuDNN's own search names candidates. They
// are measured by the method of all peers, and the fastest counts. The name of the peer has its algorithm.
// link: -lcudnn
#include <cudnn.h>

#include <string>

#include "peer.h"

static const char *name_of(cudnnConvolutionFwdAlgo_t algorithm)
{
    static const char *const names[] = {"implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft",
                                        "fft tiling",    "winograd",                  "winograd nonfused"};
    const size_t i = static_cast<size_t>(algorithm);
    return i < sizeof names / sizeof names[0] ? names[i] : "?";
}

int main()
{
    struct { const char *work; int height, width, mask_height, mask_width; } shapes[] = {
        {"default", 8192, 8192, 7, 7}, {"m3", 8192, 8192, 3, 3},     {"m5", 8192, 8192, 5, 5},
        {"m15", 8192, 8192, 15, 15},   {"n1024", 1024, 1024, 5, 5}};
    cudnnHandle_t handle;
    CHECK(cudnnCreate(&handle));
    for (auto shape : shapes) {
        const size_t count = size_t(shape.height) * shape.width, taps = size_t(shape.mask_height) * shape.mask_width;
        cudnnTensorDescriptor_t image;
        cudnnFilterDescriptor_t filter;
        cudnnConvolutionDescriptor_t convolution;
        CHECK(cudnnCreateTensorDescriptor(&image));
        CHECK(cudnnSetTensor4dDescriptor(image, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, shape.height, shape.width));
        CHECK(cudnnCreateFilterDescriptor(&filter));
        CHECK(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 1, 1, shape.mask_height,
                                         shape.mask_width));
        CHECK(cudnnCreateConvolutionDescriptor(&convolution));
        CHECK(cudnnSetConvolution2dDescriptor(convolution, shape.mask_height / 2, shape.mask_width / 2, 1, 1, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
        CHECK(cudnnSetConvolutionMathType(convolution, CUDNN_FMA_MATH));
        float *x = peer::random_floats(count, 1), *mask = peer::random_floats(taps, 2);
        float *y = peer::allocate<float>(count);

        // Algorithms that fail here come last, with a status: they are not supported, or memory runs out.
        cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
        int algorithms = 0;
        CHECK(cudnnFindConvolutionForwardAlgorithm(handle, image, filter, convolution, image,
                                                   CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &algorithms, found));
        double best = 0;
        std::string name;
        for (int i = 0, tried = 0; i < algorithms && tried < 2; i++) {
            if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].mathType != CUDNN_FMA_MATH)
                continue;
            tried++;
            void *workspace = peer::allocate<char>(found[i].memory + 1);
            const float one = 1, zero = 0;
            const double seconds = peer::median_seconds(4 * (2 * count + taps) + found[i].memory, [&] {
                CHECK(cudnnConvolutionForward(handle, &one, image, x, filter, mask, convolution, found[i].algo,
                                              workspace, found[i].memory, &zero, image, y));
            });
            if (name.empty() || seconds < best) {
                best = seconds;
                name = std::string("cuDNN, ") + name_of(found[i].algo);
            }
            CHECK(cudaFree(workspace));
        }
        if (!name.empty())
            peer::report("convolution", shape.work, name.c_str(), best, 8.0 * count);
        for (float *memory : {x, mask, y})
            CHECK(cudaFree(memory));
        CHECK(cudnnDestroyConvolutionDescriptor(convolution));
        CHECK(cudnnDestroyFilterDescriptor(filter));
        CHECK(cudnnDestroyTensorDescriptor(image));
    }
    return 0;
}
