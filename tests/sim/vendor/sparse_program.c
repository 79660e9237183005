/* A program that calls Kiln's cuSPARSE and cuSOLVER without NumPy. It makes sparse matrices of random bits in every
 * format, and multiplies, converts and solves with them. Each call must fail, or must give the result that the program
 * computes from the same bits. The sanitizers see every access. $KILN_LAPACK is fake_blas.so. Usage: sparse_program
 * SEED. The program prints each error, and its exit code is then 1. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../program.h"

enum { DONE = 0, INVALID = 3, FAILED = 6, NOT_SUPPORTED = 9 };
enum { CSR = 1, CSC = 2, COO = 3, BLOCKED_ELL = 5, BSR = 6, SLICED_ELL = 7 }; /* cusparseFormat_t */
enum { DOUBLES = 1, ROOM = 4096, MOST = 6, PLACES = 64 };

static void *sparse, *solver, *handle;
static uint64_t state;

#define FIND(library, name, function)                                                                                  \
    do {                                                                                                               \
        void *found_ = dlsym(library, name);                                                                           \
        if (!found_) {                                                                                                 \
            fprintf(stderr, "%s: %s\n", name, dlerror());                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
        memcpy(&function, &found_, sizeof function);                                                                   \
    } while (0)

static uint64_t next(uint64_t below) /* xorshift */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static CUdeviceptr memory; /* has ROOM bytes for each of offsets, indices, values, vectors and matrices */

static CUdeviceptr put(size_t part, const void *bytes, size_t count)
{
    OK(cuMemcpyHtoD(memory + part * ROOM, bytes, count));
    return memory + part * ROOM;
}

/* A matrix on the host. Its offsets and indices are right or random. */
typedef struct matrix {
    int format, base, block;
    int64_t rows, columns, nnz, width; /* nnz: entries, or blocks */
    int64_t offsets[PLACES], indices[PLACES];
    double values[PLACES];
} matrix;

/* Fills lists of offsets and indices. Most of these are right, but one of `error` numbers is random. */
static void fill_lists(matrix *m, int64_t lines, int64_t others, int64_t count, uint64_t error)
{
    m->offsets[0] = m->base;
    for (int64_t k = 1; k <= lines; k++)
        m->offsets[k] = m->offsets[k - 1] + (int64_t)next(3);
    for (int64_t k = 0; k < PLACES; k++) {
        m->indices[k] = (int64_t)next(others ? (uint64_t)others : 1) + m->base;
        m->values[k] = (double)next(9) - 4;
    }
    for (uint64_t k = 0; error && k < 1 + next(2); k++) {
        static const int64_t ends[] = {-1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 1 << 20, 7, 0};
        int64_t *list = next(2) ? m->offsets : m->indices;
        list[next(8)] = next(2) ? ends[next(8)] : (int64_t)next(12) - 2;
    }
    m->nnz = count;
}

/* Makes a random matrix. Returns its descriptor. */
static void *make_matrix(matrix *m, bool has_error)
{
    int (*lines)(void **, int64_t, int64_t, int64_t, CUdeviceptr, CUdeviceptr, CUdeviceptr, int, int, int, int);
    int (*pairs)(void **, int64_t, int64_t, int64_t, CUdeviceptr, CUdeviceptr, CUdeviceptr, int, int, int);
    int (*ell)(void **, int64_t, int64_t, int64_t, int64_t, CUdeviceptr, CUdeviceptr, int, int, int);
    int (*bsr)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, CUdeviceptr, CUdeviceptr, CUdeviceptr, int, int,
               int, int, int);
    int (*sliced)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, CUdeviceptr, CUdeviceptr, CUdeviceptr, int, int,
                  int, int);
    static const int formats[] = {CSR, CSC, COO, BLOCKED_ELL, BSR, SLICED_ELL};
    const uint64_t error = has_error;
    void *made = NULL;
    *m = (matrix){.format = formats[next(6)], .base = (int)next(2), .block = 1 + (int)next(2)};
    const int64_t blocks = (int64_t)next(4), others = (int64_t)next(4);
    const bool blocked = m->format == BSR || m->format == BLOCKED_ELL;
    m->rows = blocked ? blocks * m->block : (int64_t)next(MOST + 1);
    m->columns = blocked ? others * m->block : (int64_t)next(MOST + 1);
    const int64_t line_count = m->format == CSC          ? m->columns
                               : m->format == BSR        ? blocks
                               : m->format == SLICED_ELL ? (m->rows + m->block - 1) / m->block
                                                         : m->rows;
    fill_lists(m, line_count, m->format == CSC ? m->rows : blocked ? others : m->columns, 0, error);
    m->width = others ? (int64_t)next((uint64_t)others + 1) : 0; /* in blocks */
    if (m->format == COO) {
        m->nnz = (int64_t)next(9);
        for (int64_t k = 0; k < m->nnz && m->rows; k++)
            m->offsets[k] = (int64_t)next((uint64_t)m->rows) + m->base;
        if (!m->rows || !m->columns)
            m->nnz = 0;
        if (error && m->nnz)
            m->offsets[next((uint64_t)m->nnz)] = (int64_t)next(3) ? INT64_MIN : 99;
    } else {
        const int64_t last = m->offsets[line_count]; /* a random number, or the number of entries */
        m->nnz = last >= m->base && last - m->base <= 12 ? last - m->base : 4;
    }
    const CUdeviceptr offsets = put(0, m->offsets, sizeof m->offsets), indices = put(1, m->indices, sizeof m->indices),
                      values = put(2, m->values, sizeof m->values);
    switch (m->format) {
    case CSR:
    case CSC:
        FIND(sparse, m->format == CSR ? "cusparseCreateCsr" : "cusparseCreateCsc", lines);
        CHECK(lines(&made, m->rows, m->columns, m->nnz, offsets, indices, values, 3, 3, m->base, DOUBLES) == DONE);
        break;
    case COO:
        FIND(sparse, "cusparseCreateCoo", pairs);
        CHECK(pairs(&made, m->rows, m->columns, m->nnz, offsets, indices, values, 3, m->base, DOUBLES) == DONE);
        break;
    case BLOCKED_ELL:
        FIND(sparse, "cusparseCreateBlockedEll", ell);
        CHECK(ell(&made, m->rows, m->columns, m->block, m->width * m->block, indices, values, 3, m->base, DOUBLES) ==
              DONE);
        break;
    case BSR:
        FIND(sparse, "cusparseCreateBsr", bsr);
        CHECK(bsr(&made, blocks, others, m->nnz, m->block, m->block, offsets, indices, values, 3, 3, m->base, DOUBLES,
                  2) == DONE);
        break;
    default:
        FIND(sparse, "cusparseCreateSlicedEll", sliced);
        CHECK(sliced(&made, m->rows, m->columns, m->nnz, m->nnz, m->block, offsets, indices, values, 3, 3, m->base,
                     DOUBLES) == DONE);
    }
    return made;
}

typedef double square[MOST][MOST];

/* Adds a value at a place of the dense matrix, or returns false if the place does not exist. */
static bool add(square sum, const matrix *m, int64_t row, int64_t column, double value)
{
    if (row < 0 || row >= m->rows || column < 0 || column >= m->columns)
        return false;
    sum[row][column] += value;
    return true;
}

/* Reads the range of entries of a row or column. */
static bool find_range(const matrix *m, int64_t line, int64_t *begin, int64_t *end)
{
    const int64_t low = m->offsets[line], high = m->offsets[line + 1];
    if (low < m->base || high < low || high - m->base > m->nnz)
        return false;
    *begin = low - m->base;
    *end = high - m->base;
    return true;
}

/* Computes the dense matrix from the same lists. Returns false if an offset or index is wrong. */
static bool expand(const matrix *m, square sum)
{
    const int64_t size = m->block, lines = m->format == CSC                               ? m->columns
                                           : m->format == SLICED_ELL                      ? (m->rows + size - 1) / size
                                           : m->format == BSR || m->format == BLOCKED_ELL ? m->rows / size
                                                                                          : m->rows;
    memset(sum, 0, sizeof(square));
    if (m->format == COO) {
        for (int64_t k = 0; k < m->nnz; k++)
            if (m->offsets[k] < m->base || m->indices[k] < m->base ||
                !add(sum, m, m->offsets[k] - m->base, m->indices[k] - m->base, m->values[k]))
                return false;
        return true;
    }
    for (int64_t i = 0; i < lines; i++) {
        int64_t begin = i * m->width, end = begin + m->width; /* BLOCKED_ELL */
        if (m->format != BLOCKED_ELL && !find_range(m, i, &begin, &end))
            return false;
        for (int64_t k = begin; k < end; k++) {
            const int64_t row = i * size + (k - begin) % size, index = m->indices[k];
            const bool has_padding = m->format == SLICED_ELL || m->format == BLOCKED_ELL;
            if ((has_padding && index == -1) || (m->format == SLICED_ELL && row >= m->rows))
                continue;
            if (index < m->base || index - m->base >= MOST)
                return false;
            const int64_t other = index - m->base;
            bool right = true;
            if (m->format == CSR || m->format == CSC)
                right = add(sum, m, m->format == CSR ? i : other, m->format == CSR ? other : i, m->values[k]);
            else if (m->format == SLICED_ELL)
                right = add(sum, m, row, other, m->values[k]);
            else
                for (int64_t e = 0; e < size * size && right; e++)
                    right = add(sum, m, i * size + e / size, other * size + e % size,
                                m->values[m->format == BSR ? k * size * size + e
                                                           : (i * size + e / size) * m->width * size +
                                                                 (k - begin) * size + e % size]);
            if (!right)
                return false;
        }
    }
    return true;
}

static void *new_vector(CUdeviceptr at, int64_t size)
{
    int (*create)(void **, int64_t, CUdeviceptr, int);
    void *made = NULL;
    FIND(sparse, "cusparseCreateDnVec", create);
    CHECK(create(&made, size, at, DOUBLES) == DONE);
    return made;
}

static void destroy(const char *name, void *object)
{
    int (*function)(void *);
    FIND(sparse, name, function);
    CHECK(function(object) == DONE);
}

/* Computes y = A x with the matrix and with its transpose. */
static void check_product(void *a, const matrix *m, bool right, square sum, int op)
{
    int (*multiply)(void *, int, const void *, void *, void *, const void *, void *, int, int, void *);
    const double one = 1, none = 0;
    double x[MOST], y[MOST] = {0};
    for (int64_t k = 0; k < MOST; k++)
        x[k] = (double)(k + 1);
    const int64_t rows = op ? m->columns : m->rows, columns = op ? m->rows : m->columns;
    void *vx = new_vector(put(3, x, sizeof x), columns), *vy = new_vector(put(4, y, sizeof y), rows);
    FIND(sparse, "cusparseSpMV", multiply);
    const int code = multiply(handle, op, &one, a, vx, &none, vy, DOUBLES, 0, NULL);
    CHECK(code == (right ? DONE : FAILED));
    OK(cuMemcpyDtoH(y, memory + 4 * ROOM, sizeof y));
    for (int64_t i = 0; code == DONE && i < rows; i++) {
        double expected = 0;
        for (int64_t j = 0; j < columns; j++)
            expected += (op ? sum[j][i] : sum[i][j]) * x[j];
        CHECK(y[i] == expected); /* small whole numbers */
    }
    destroy("cusparseDestroyDnVec", vx);
    destroy("cusparseDestroyDnVec", vy);
}

/* Solves with the lower triangle, and multiplies the matrix with itself. These calls may not access other memory. */
static void try_others(void *a, const matrix *m, bool right)
{
    int (*analyse)(void *, int, const void *, void *, void *, void *, int, int, void *, void *);
    int (*solve)(void *, int, const void *, void *, void *, void *, int, int, void *);
    int (*compute)(void *, int, int, const void *, void *, void *, const void *, void *, int, int, void *, size_t *,
                   CUdeviceptr);
    int (*create)(void **);
    const double one = 1, none = 0;
    void *plan = NULL;
    size_t bytes = 0;
    if (m->rows != m->columns)
        return;
    void *x = new_vector(memory + 3 * ROOM, m->rows), *y = new_vector(memory + 4 * ROOM, m->rows);
    FIND(sparse, "cusparseSpSV_createDescr", create);
    FIND(sparse, "cusparseSpSV_analysis", analyse);
    FIND(sparse, "cusparseSpSV_solve", solve);
    CHECK(create(&plan) == DONE);
    if (analyse(handle, 0, &one, a, x, y, DOUBLES, 0, plan, NULL) == DONE)
        CHECK(solve(handle, (int)next(3), &one, a, x, y, DOUBLES, 0, plan) == (right ? DONE : FAILED));
    destroy("cusparseSpSV_destroyDescr", plan);
    destroy("cusparseDestroyDnVec", x);
    destroy("cusparseDestroyDnVec", y);
    if (m->format == CSR) {
        FIND(sparse, "cusparseSpGEMM_createDescr", create);
        FIND(sparse, "cusparseSpGEMM_compute", compute);
        CHECK(create(&plan) == DONE);
        const int code = compute(handle, 0, 0, &one, a, a, &none, a, DOUBLES, 0, plan, &bytes, memory);
        CHECK(code == DONE || !right);
        destroy("cusparseSpGEMM_destroyDescr", plan);
    }
}

/* Passes plain arrays with random numbers. Each function must fail, or access only these arrays. */
static void try_arrays(void)
{
    int (*rows)(void *, CUdeviceptr, int, int, CUdeviceptr, int);
    int (*transpose)(void *, int, int, int, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr,
                     CUdeviceptr, int, int, int, int, void *);
    int (*sort)(void *, int, int, int, void *, CUdeviceptr, CUdeviceptr, CUdeviceptr, void *);
    int (*analyse)(void *, int, int, void *, CUdeviceptr, CUdeviceptr, CUdeviceptr, void *, int, void *);
    int (*create)(void **);
    int32_t offsets[8] = {0}, indices[16];
    void *descriptor = NULL, *info = NULL;
    for (int k = 1; k < 8; k++)
        offsets[k] = offsets[k - 1] + (int32_t)next(3);
    for (int k = 0; k < 16; k++)
        indices[k] = (int32_t)next(7);
    if (next(2))
        offsets[next(8)] = next(2) ? INT32_MAX : INT32_MIN;
    if (next(2))
        indices[next(16)] = next(2) ? 99 : -5;
    const int nnz = (int)next(15);
    const CUdeviceptr o = put(0, offsets, sizeof offsets), i = put(1, indices, sizeof indices), to = memory + 4 * ROOM;
    FIND(sparse, "cusparseXcsr2coo", rows);
    const int code = rows(handle, o, nnz, 7, to, (int)next(2));
    CHECK(code == DONE || code == FAILED);
    FIND(sparse, "cusparseXcoo2csr", rows);
    const int back = rows(handle, i, nnz, 7, to, (int)next(2));
    CHECK(back == DONE || back == FAILED);
    FIND(sparse, "cusparseCsr2cscEx2", transpose);
    const int turned = transpose(handle, 7, 7, nnz, memory + 2 * ROOM, o, i, memory + 3 * ROOM, to, memory + 5 * ROOM,
                                 DOUBLES, 1, (int)next(2), 1, NULL);
    CHECK(turned == DONE || turned == FAILED);
    FIND(sparse, "cusparseCreateMatDescr", create);
    CHECK(create(&descriptor) == DONE);
    FIND(sparse, "cusparseXcsrsort", sort);
    const int sorted = sort(handle, 7, 7, nnz, descriptor, o, to, memory + 5 * ROOM, NULL);
    CHECK(sorted == DONE || sorted == FAILED);
    FIND(sparse, "cusparseCreateCsrilu02Info", create);
    CHECK(create(&info) == DONE);
    FIND(sparse, "cusparseDcsrilu02_analysis", analyse);
    if (analyse(handle, 7, nnz, descriptor, memory + 2 * ROOM, o, i, info, 0, NULL) == DONE) {
        FIND(sparse, "cusparseDcsrilu02", analyse);
        CHECK(analyse(handle, 7, nnz, descriptor, memory + 2 * ROOM, o, i, info, 0, NULL) == DONE);
    }
    destroy("cusparseDestroyCsrilu02Info", info);
    destroy("cusparseDestroyMatDescr", descriptor);
}

/* Tests cuSOLVER with the test's LAPACK: the factor of a matrix, its info, and pivots that are not numbers of rows. */
static void check_solver(void)
{
    int (*create)(void **), (*end)(void *);
    int (*factor)(void *, int, int, CUdeviceptr, int, CUdeviceptr, int, CUdeviceptr);
    int (*lu)(void *, int, int, CUdeviceptr, int, CUdeviceptr, CUdeviceptr, CUdeviceptr);
    int (*solve)(void *, int, int, int, CUdeviceptr, int, CUdeviceptr, CUdeviceptr, int, CUdeviceptr);
    int (*geev)(void *, void *, int, int, int64_t, int, CUdeviceptr, int64_t, int, CUdeviceptr, int, CUdeviceptr,
                int64_t, int, CUdeviceptr, int64_t, int, size_t *, size_t *);
    int (*polar)(void *, void *, int, int, int64_t, int64_t, int, CUdeviceptr, int64_t, int, CUdeviceptr, int,
                 CUdeviceptr, int64_t, int, CUdeviceptr, int64_t, int, size_t *, size_t *);
    const double a[] = {4, 2, 77, 9, 10, 77}; /* two columns of two rows, with a gap of 77 */
    const int32_t pivots[] = {1, 3}, good[] = {2, 2};
    double result[6], rights[] = {1, 2};
    int32_t told = 55;
    void *own = NULL;
    const CUdeviceptr at = put(0, a, sizeof a), info = put(1, &told, sizeof told), area = memory + 2 * ROOM;
    FIND(solver, "cusolverDnCreate", create);
    FIND(solver, "cusolverDnDestroy", end);
    FIND(solver, "cusolverDnDpotrf", factor);
    FIND(solver, "cusolverDnDgetrf", lu);
    FIND(solver, "cusolverDnDgetrs", solve);
    CHECK(create(&own) == DONE);
    CHECK(factor(own, 0, 2, at, 3, area, 32, info) == DONE);
    OK(cuMemcpyDtoH(result, at, sizeof result));
    OK(cuMemcpyDtoH(&told, info, sizeof told));
    CHECK(told == 0 && result[0] == 2 && result[1] == 1 && result[4] == 3);
    CHECK(result[2] == 77 && result[3] == 9 && result[5] == 77);
    CHECK(factor(own, 0, 2, at, 1, area, 32, info) == INVALID);
    CHECK(factor(own, 0, 2, at, 3, area, 31, info) == INVALID);
    CHECK(factor(own, 0, 2, 64, 3, area, 32, info) == FAILED);
    CHECK(factor(own, 0, 1 << 20, at, 1 << 20, area, 32, info) == FAILED);
    put(0, a, sizeof a); /* without exchanges of rows, the factors are {4, 0.5, 9, 10 - 4.5} */
    CHECK(lu(own, 2, 2, at, 3, area, 0, info) == DONE);
    OK(cuMemcpyDtoH(result, at, sizeof result));
    CHECK(result[0] == 4 && result[1] == 0.5 && result[3] == 9 && result[4] == 5.5);
    const CUdeviceptr b = put(3, rights, sizeof rights);
    CHECK(solve(own, 0, 2, 1, at, 3, put(4, pivots, sizeof pivots), b, 2, info) == FAILED);
    CHECK(solve(own, 0, 2, 1, at, 3, put(4, good, sizeof good), b, 2, info) == DONE);
    OK(cuMemcpyDtoH(rights, b, sizeof rights));
    CHECK(rights[0] == 2); /* fake_blas.c adds the first pivot minus 1 to the right side */
    /* sizes whose products do not fit 64 bits */
    size_t bytes, host_bytes;
    FIND(solver, "cusolverDnXgeev_bufferSize", geev);
    FIND(solver, "cusolverDnXgesvdp_bufferSize", polar);
    CHECK(geev(own, NULL, 0, 0, INT64_MIN, 1, at, 3, 1, at, 1, at, 3, 1, at, 3, 1, &bytes, &host_bytes) == INVALID);
    CHECK(polar(own, NULL, 1, 0, 4, 4, 1, at, 4, 1, at, 1, at, INT64_MAX, 1, at, 4, 1, &bytes, &host_bytes) == INVALID);
    CHECK(end(own) == DONE);
}

int main(int count, char **words)
{
    enum { ROUNDS = 3000, PARTS = 6 };
    int (*create)(void **), (*end)(void *), good = 0;
    CUcontext context;
    state = 0x9e3779b97f4a7c15ULL + (count > 1 ? strtoull(words[1], NULL, 10) : 0);
    sparse = dlopen("libcusparse.so.12", RTLD_NOW);
    solver = dlopen("libcusolver.so.12", RTLD_NOW);
    if (!sparse || !solver) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cuCtxSetCurrent(context));
    TRY(cuMemAlloc(&memory, PARTS * ROOM));
    TRY(cuMemsetD8(memory, 0, PARTS * ROOM));
    FIND(sparse, "cusparseCreate", create);
    FIND(sparse, "cusparseDestroy", end);
    CHECK(create(&handle) == DONE);
    for (int round = 0; round < ROUNDS && !wrong; round++) {
        matrix m;
        square sum;
        void *a = make_matrix(&m, round % 2);
        const bool right = expand(&m, sum);
        good += right;
        check_product(a, &m, right, sum, 0);
        check_product(a, &m, right, sum, 1);
        try_others(a, &m, right);
        destroy("cusparseDestroySpMat", a);
        try_arrays();
        if (wrong)
            printf("round %d: format %d, %d x %d, %d entries, base %d\n", round, m.format, (int)m.rows, (int)m.columns,
                   (int)m.nnz, m.base);
    }
    CHECK(good > ROUNDS / 4 && good < ROUNDS * 9 / 10);
    check_solver();
    CHECK(end(handle) == DONE);
    return wrong != 0;
}
