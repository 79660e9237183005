// spmv.cu - cuSPARSE's y = A x: CSR by both algorithms after cusparseSpMV_preprocess, COO, and sliced ELL with 32
// rows per slice. The matrices are Kiln's own, and `kiln run -o` writes them to files.
// link: -lcusparse
#include <cusparse.h>

#include <string>

#include "peer.h"

// Reads the elements of a .npy file with one dimension in Kiln's form: version 1.0, little-endian.
template <class T> std::vector<T> read_npy(const std::string &path)
{
    std::FILE *file = std::fopen(path.c_str(), "rb");
    unsigned char head[10];
    if (!file || std::fread(head, 1, sizeof head, file) != sizeof head) {
        std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
        std::exit(1);
    }
    std::fseek(file, 0, SEEK_END);
    const long begin = 10 + head[8] + 256 * head[9], bytes = std::ftell(file) - begin;
    std::vector<T> elements(static_cast<size_t>(bytes) / sizeof(T));
    std::fseek(file, begin, SEEK_SET);
    if (std::fread(elements.data(), sizeof(T), elements.size(), file) != elements.size())
        std::exit(1);
    std::fclose(file);
    return elements;
}

template <class T> T *to_device(const std::vector<T> &elements)
{
    T *memory = peer::allocate<T>(elements.size() + 1);
    CHECK(cudaMemcpy(memory, elements.data(), elements.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

static std::string setting(const char *name, const char *otherwise)
{
    const char *value = std::getenv(name);
    return value ? value : otherwise;
}

// The buffers of a variant, as .npy files BUFFER.npy in `folder`.
static bool write_down(const std::string &folder, const char *work, const char *variant,
                       const std::vector<const char *> &buffers)
{
    std::string command = setting("KILN", "kiln") + " run spmv -I " + setting("KILN_SPECS", "specs") +
                          " --no-measure --no-verify -s " + work + " -v " + variant;
    for (const char *buffer : buffers)
        command += std::string(" -o ") + buffer + "=" + folder + "/" + buffer + ".npy";
    return std::system((command + " >/dev/null").c_str()) == 0;
}

struct Problem {
    const char *work;
    int64_t rows, columns, nonzeros;
    float *x, *y;
    double bytes;
};

static cusparseHandle_t handle;

// Measures the product of a matrix that cuSPARSE knows, and prints its line. Returns false if the algorithm does not
// take it.
static bool measure(const Problem &p, const char *name, cusparseSpMatDescr_t matrix, cusparseSpMVAlg_t algorithm,
                    bool prepare)
{
    const float one = 1, zero = 0;
    cusparseDnVecDescr_t x, y;
    size_t room = 0;
    CHECK(cusparseCreateDnVec(&x, p.columns, p.x, CUDA_R_32F));
    CHECK(cusparseCreateDnVec(&y, p.rows, p.y, CUDA_R_32F));
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (cusparseSpMV_bufferSize(handle, plain, &one, matrix, x, &zero, y, CUDA_R_32F, algorithm, &room) !=
        CUSPARSE_STATUS_SUCCESS)
        return false;
    char *buffer = peer::allocate<char>(room + 1);
    bool taken = !prepare || cusparseSpMV_preprocess(handle, plain, &one, matrix, x, &zero, y, CUDA_R_32F, algorithm,
                                                     buffer) == CUSPARSE_STATUS_SUCCESS;
    if (taken) {
        const double seconds = peer::median_seconds(static_cast<size_t>(p.bytes), [&] {
            CHECK(cusparseSpMV(handle, plain, &one, matrix, x, &zero, y, CUDA_R_32F, algorithm, buffer));
        });
        peer::report("spmv", p.work, name, seconds, p.bytes);
    }
    CHECK(cudaFree(buffer));
    CHECK(cusparseDestroyDnVec(x));
    CHECK(cusparseDestroyDnVec(y));
    return taken;
}

static void measure_work(const char *work, const std::string &folder)
{
    if (!write_down(folder, work, "csr_thread", {"offsets", "index", "values", "x"}))
        std::exit(1);
    const auto offsets = read_npy<int>(folder + "/offsets.npy");
    const auto index = read_npy<int>(folder + "/index.npy");
    const auto values = read_npy<float>(folder + "/values.npy");
    const int64_t rows = static_cast<int64_t>(offsets.size()) - 1, nonzeros = static_cast<int64_t>(index.size());
    const size_t length = read_npy<float>(folder + "/x.npy").size(); // as many elements as the matrix has columns
    Problem p = {work, rows, static_cast<int64_t>(length), nonzeros, peer::random_floats(length),
                 peer::allocate<float>(static_cast<size_t>(rows)), 8.0 * nonzeros + 8.0 * rows + 4.0 * length + 4};
    int *device_offsets = to_device(offsets), *device_index = to_device(index);
    float *device_values = to_device(values);
    cusparseSpMatDescr_t csr, coo, sell;
    const auto type = CUSPARSE_INDEX_32I;
    const auto base = CUSPARSE_INDEX_BASE_ZERO;
    CHECK(cusparseCreateCsr(&csr, rows, p.columns, nonzeros, device_offsets, device_index, device_values, type, type,
                            base, CUDA_R_32F));
    measure(p, "cuSPARSE CSR ALG1", csr, CUSPARSE_SPMV_CSR_ALG1, true);
    measure(p, "cuSPARSE CSR ALG2", csr, CUSPARSE_SPMV_CSR_ALG2, true);
    std::vector<int> row_of(index.size());
    for (int64_t r = 0; r < rows; r++)
        for (int i = offsets[r]; i < offsets[r + 1]; i++)
            row_of[i] = static_cast<int>(r);
    int *device_rows = to_device(row_of);
    CHECK(cusparseCreateCoo(&coo, rows, p.columns, nonzeros, device_rows, device_index, device_values, type, base,
                            CUDA_R_32F));
    measure(p, "cuSPARSE COO ALG1", coo, CUSPARSE_SPMV_COO_ALG1, true);
    CHECK(cusparseDestroySpMat(csr));
    CHECK(cusparseDestroySpMat(coo));
    CHECK(cudaFree(device_rows));
    if (write_down(folder, work, "sell_c_sigma -p SIGMA=1 -p HEIGHT=32", {"starts", "sell_index", "sell_values"})) {
        const auto starts = read_npy<int>(folder + "/starts.npy");
        int *slices = to_device(starts), *columns = to_device(read_npy<int>(folder + "/sell_index.npy"));
        float *padded = to_device(read_npy<float>(folder + "/sell_values.npy"));
        CHECK(cusparseCreateSlicedEll(&sell, rows, p.columns, nonzeros, starts.back(), 32, slices, columns, padded, type,
                                      type, base, CUDA_R_32F));
        measure(p, "cuSPARSE sliced ELL", sell, CUSPARSE_SPMV_SELL_ALG1, false);
        CHECK(cusparseDestroySpMat(sell));
        for (void *memory : {static_cast<void *>(slices), static_cast<void *>(columns), static_cast<void *>(padded)})
            CHECK(cudaFree(memory));
    }
    for (void *memory : {static_cast<void *>(device_offsets), static_cast<void *>(device_index),
                         static_cast<void *>(device_values), static_cast<void *>(p.x), static_cast<void *>(p.y)})
        CHECK(cudaFree(memory));
}

// Runs all works, or the works that are named.
int main(int count, char **names)
{
    char folder[] = "/tmp/kiln-peer-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    CHECK(cusparseCreate(&handle));
    std::vector<const char *> works = {"default", "band",      "fem",  "power",      "long_rows", "road",
                                       "grid",    "wide_band", "fem6", "power_rows", "tall",      "noisy"};
    if (count > 1)
        works.assign(names + 1, names + count);
    for (const char *work : works)
        measure_work(work, folder);
    return std::system(("rm -r " + std::string(folder)).c_str());
}
