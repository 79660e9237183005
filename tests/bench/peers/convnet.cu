// convnet.cu - cuDNN's forward convolution at the works of specs/convnet.yaml, in full single precision
// (CUDNN_FMA_MATH: no tensor cores). cuDNN's own search names candidates. The three best of them are measured by the
// method of all peers, and the fastest counts. The name of the peer has its algorithm.
//
// With the arguments WORK ALGORITHM X Y W the program measures nothing. It runs the layer once on the .npy files X
// and W, by that algorithm, or by the fastest of its search if ALGORITHM is "fastest". It writes Y without a header
// (tests/bench/layer_errors.sh).
// link: -lcudnn
#include <cudnn.h>

#include <cstring>
#include <string>

#include "peer.h"

static const char *name_of(cudnnConvolutionFwdAlgo_t algorithm)
{
    static const char *const names[] = {"implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft",
                                        "fft tiling",    "winograd",                  "winograd nonfused"};
    const size_t i = static_cast<size_t>(algorithm);
    return i < sizeof names / sizeof names[0] ? names[i] : "?";
}

struct Layer {
    const char *work;
    int images, channels, size, filters, taps, stride, pad, groups;
    cudnnTensorFormat_t format;
};

struct Files {
    const char *algorithm, *x, *y, *w;
};

// Replaces the contents of `to` by the numbers of a .npy file of version 1.
static void read_floats(float *to, size_t count, const char *name)
{
    std::vector<float> numbers(count);
    unsigned char start[10] = {0};
    FILE *file = std::fopen(name, "rb");
    if (!file || std::fread(start, 1, 10, file) != 10 || std::fseek(file, 10 + start[8] + 256 * start[9], SEEK_SET) != 0 ||
        std::fread(numbers.data(), 4, count, file) != count) {
        std::fprintf(stderr, "cannot read %s\n", name);
        std::exit(1);
    }
    std::fclose(file);
    CHECK(cudaMemcpy(to, numbers.data(), 4 * count, cudaMemcpyHostToDevice));
}

static void write_floats(const float *from, size_t count, const char *name)
{
    std::vector<float> numbers(count);
    CHECK(cudaMemcpy(numbers.data(), from, 4 * count, cudaMemcpyDeviceToHost));
    FILE *file = std::fopen(name, "wb");
    if (!file || std::fwrite(numbers.data(), 4, count, file) != count || std::fclose(file) != 0) {
        std::fprintf(stderr, "cannot write %s\n", name);
        std::exit(1);
    }
}

static void measure(cudnnHandle_t handle, const Layer &l, const Files *files)
{
    const int out_size = (l.size + 2 * l.pad - l.taps) / l.stride + 1;
    const size_t ins = size_t(l.images) * l.channels * l.size * l.size;
    const size_t outs = size_t(l.images) * l.filters * out_size * out_size;
    const size_t weights = size_t(l.filters) * (l.channels / l.groups) * l.taps * l.taps;
    cudnnTensorDescriptor_t in, out;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    CHECK(cudnnCreateTensorDescriptor(&in));
    CHECK(cudnnSetTensor4dDescriptor(in, l.format, CUDNN_DATA_FLOAT, l.images, l.channels, l.size, l.size));
    CHECK(cudnnCreateTensorDescriptor(&out));
    CHECK(cudnnSetTensor4dDescriptor(out, l.format, CUDNN_DATA_FLOAT, l.images, l.filters, out_size, out_size));
    CHECK(cudnnCreateFilterDescriptor(&filter));
    CHECK(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, l.format, l.filters, l.channels / l.groups, l.taps,
                                     l.taps));
    CHECK(cudnnCreateConvolutionDescriptor(&convolution));
    CHECK(cudnnSetConvolution2dDescriptor(convolution, l.pad, l.pad, l.stride, l.stride, 1, 1, CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT));
    CHECK(cudnnSetConvolutionGroupCount(convolution, l.groups));
    CHECK(cudnnSetConvolutionMathType(convolution, CUDNN_FMA_MATH));
    float *x = peer::random_floats(ins, 1), *w = peer::random_floats(weights, 2), *y = peer::allocate<float>(outs);

    if (files) {
        read_floats(x, ins, files->x);
        read_floats(w, weights, files->w);
    }

    // Algorithms that fail here come last, with a status: they are not supported, or memory runs out.
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int algorithms = 0;
    if (cudnnFindConvolutionForwardAlgorithm(handle, in, filter, convolution, out, CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
                                             &algorithms, found) != CUDNN_STATUS_SUCCESS)
        algorithms = 0;
    double best = 0;
    std::string name;
    for (int i = 0, tried = 0; i < algorithms && tried < 3; i++) {
        if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].mathType != CUDNN_FMA_MATH)
            continue;
        if (files && std::strcmp(files->algorithm, "fastest") != 0 &&
            std::strcmp(files->algorithm, name_of(found[i].algo)) != 0)
            continue;
        tried++;
        void *workspace = peer::allocate<char>(found[i].memory + 1);
        const float one = 1, zero = 0;
        if (files) {
            CHECK(cudnnConvolutionForward(handle, &one, in, x, filter, w, convolution, found[i].algo, workspace,
                                          found[i].memory, &zero, out, y));
            write_floats(y, outs, files->y);
            std::printf("%s\n", name_of(found[i].algo));
            std::exit(0);
        }
        const double seconds = peer::median_seconds(4 * (ins + outs + weights) + found[i].memory, [&] {
            CHECK(cudnnConvolutionForward(handle, &one, in, x, filter, w, convolution, found[i].algo, workspace,
                                          found[i].memory, &zero, out, y));
        });
        if (name.empty() || seconds < best) {
            best = seconds;
            name = std::string("cuDNN, ") + name_of(found[i].algo);
        }
        CHECK(cudaFree(workspace));
    }
    if (!name.empty())
        peer::report("convnet", l.work, name.c_str(), best, 4.0 * (ins + outs + weights));
    for (float *memory : {x, w, y})
        CHECK(cudaFree(memory));
    CHECK(cudnnDestroyConvolutionDescriptor(convolution));
    CHECK(cudnnDestroyFilterDescriptor(filter));
    CHECK(cudnnDestroyTensorDescriptor(in));
    CHECK(cudnnDestroyTensorDescriptor(out));
}

int main(int argc, char **argv)
{
    const Layer layers[] = {
        // images, channels, size, filters, taps, stride, pad, groups
        {"default", 32, 64, 56, 64, 3, 1, 1, 1, CUDNN_TENSOR_NCHW},
        {"pointwise", 32, 256, 28, 512, 1, 1, 0, 1, CUDNN_TENSOR_NCHW},
        {"deep", 32, 512, 7, 512, 3, 1, 1, 1, CUDNN_TENSOR_NCHW},
        {"five", 4, 16, 28, 32, 5, 1, 2, 1, CUDNN_TENSOR_NCHW},
        {"five_128", 128, 16, 28, 32, 5, 1, 2, 1, CUDNN_TENSOR_NCHW},
        {"depthwise", 32, 256, 56, 256, 3, 1, 1, 256, CUDNN_TENSOR_NCHW},
        {"depthwise14", 32, 512, 14, 512, 3, 1, 1, 512, CUDNN_TENSOR_NCHW},
        {"nhwc", 32, 64, 56, 64, 3, 1, 1, 1, CUDNN_TENSOR_NHWC},
        {"stem", 32, 3, 224, 64, 7, 2, 3, 1, CUDNN_TENSOR_NCHW},
    };
    cudnnHandle_t handle;
    CHECK(cudnnCreate(&handle));
    const Files files = argc == 6 ? Files{argv[2], argv[3], argv[4], argv[5]} : Files{};
    for (const Layer &layer : layers)
        if (argc != 6 || std::strcmp(layer.work, argv[1]) == 0)
            measure(handle, layer, argc == 6 ? &files : nullptr);
    return argc == 6; // no layer or no algorithm has that name
}
