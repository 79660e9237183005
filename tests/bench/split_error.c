/* split_error.c - the errors of a product of single-precision matrices on tensor cores, for several ways to split the
 * numbers, and the errors of plain single precision. The program is a model on the host. It computes one element of the
 * product at a time:
 *
 *   cc -O2 -o split_error tests/bench/split_error.c -lm && ./split_error [K] [ELEMENTS a side] [SCHEME]
 *
 * For the errors of a kernel (tests/bench/errors.sh) it writes the matrices, and reads the product that the kernel made:
 *
 *   ./split_error make CLASS A.npy B.npy M N K        the classes are numbered from 0
 *   ./split_error read A.npy B.npy P.npy              prints the errors of at most 16,384 elements
 *
 * It fails if a scheme of the catalogue has a larger median, 99.9 % or largest error than plain single precision.
 *
 * Plain single precision is one chain of fused multiply-adds in order of k, as in cuBLAS SGEMM and in `coarsened`. The
 * tensor core is the tensor core of compute capability 9.0 in the simulated device (engine/sim/device/ops/README.md). An
 * instruction takes 32 bytes of k. It cuts the addend and each product towards zero, to 25 bits below the power of two of
 * the largest one. It cuts their sum to single precision.
 *
 * A number is the sum of parts. Each part is the remainder, rounded to the nearest tf32 (11 bits, the second part cut) or
 * bf16 (8 bits). Products of parts are computed in ascending order of size. One order computes all products of one size for
 * a chunk of K before the next larger size. The order "by steps" computes all products for an instruction's k before the
 * next k. The sum of each chunk begins at 0. It is then added to the other sums in single precision, rounded to the nearest.
 * Errors are |got - want| / sum of |a b| in units of 1e-9. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3, STEP = 16 };

typedef struct scheme {
    const char *name;
    int bits, parts, products, chunk;
    int by_steps; /* true: first all products of one instruction's k, then the products of the next k */
    int kept;     /* 1: the catalogue uses this scheme: its errors must not be larger than plain single precision's */
} scheme;

static const scheme schemes[] = {
    {"sgemm", 24, 1, 0, 0, 0, 0},
    {"1 x tf32, chunk 32", 11, 1, 1, 32, 0, 0},
    {"3 x tf32, never taken out", 11, 2, 3, 1 << 30, 1, 0},
    {"3 x tf32, by steps, chunk 16", 11, 2, 3, 16, 1, 1},
    {"3 x tf32, by steps, chunk 32", 11, 2, 3, 32, 1, 0},
    {"3 x tf32, chunk 32", 11, 2, 3, 32, 0, 0},
    {"4 x tf32, chunk 32", 11, 2, 4, 32, 0, 0},
    {"3 x bf16, chunk 64", 8, 2, 3, 64, 0, 0},
    {"6 x bf16, never taken out", 8, 3, 6, 1 << 30, 1, 0},
    {"6 x bf16, by steps, chunk 64", 8, 3, 6, 64, 1, 0},
    {"6 x bf16, chunk 32", 8, 3, 6, 32, 0, 1},
    {"6 x bf16, chunk 64", 8, 3, 6, 64, 0, 1},
    {"6 x bf16, chunk 128", 8, 3, 6, 128, 0, 0},
    {"9 x bf16, chunk 64", 8, 3, 9, 64, 0, 0},
};

/* The products of parts of a and b, the largest first. A scheme of n products takes the first n of this list. */
static const int of_two[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
static const int of_three[9][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 0}, {1, 2}, {2, 1}, {2, 2}};

/* ---- random numbers ---- */

static double draw(uint64_t *state) /* splitmix64: [0, 1) with 24 bits */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 40) * 0x1p-24;
}

static float draw_normal(uint64_t *state)
{
    return (float)(sqrt(-2 * log(1 - draw(state))) * cos(6.283185307179586 * draw(state)));
}

static const char *const classes[] = {"uniform [-1, 1]", "uniform [0, 1]", "normal", "spread over 2^+-20",
                                      "ill-conditioned"};

/* Makes a row of A or a column of B. In the ill-conditioned class the second half cancels the first, except for 2^-12
 * of it. */
static void make(int class, int of_a, int k_count, float *x, uint64_t *state)
{
    for (int k = 0; k < k_count; k++) {
        double u = draw(state);
        if (class == 0)
            x[k] = (float)(2 * u - 1);
        else if (class == 1)
            x[k] = (float)u;
        else if (class == 2)
            x[k] = draw_normal(state);
        else if (class == 3)
            x[k] = (float)ldexp(draw(state) < 0.5 ? 1 + u : -1 - u, (int)(41 * draw(state)) - 20);
        else if (k < k_count / 2)
            x[k] = (float)(2 * u - 1);
        else
            x[k] = of_a ? -x[k - k_count / 2] * (float)(1 + 0x1p-12 * u) : x[k - k_count / 2];
    }
}

/* ---- the tensor core ---- */

static float round_to_bits(float x, int bits)
{
    uint32_t word, drop = 24 - (uint32_t)bits;
    memcpy(&word, &x, sizeof word);
    word += ((word >> drop) & 1) + (1u << (drop - 1)) - 1; /* rounds to the nearest, and ties to even */
    word &= ~((1u << drop) - 1);
    memcpy(&x, &word, sizeof x);
    return x;
}

static float cut_to_bits(float x, int bits) /* cuts a float in the way in which a tensor core reads a float as tf32 */
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word &= ~((1u << (24 - bits)) - 1);
    memcpy(&x, &word, sizeof x);
    return x;
}

static void split(float x, int bits, int parts, float *to)
{
    for (int p = 0; p < parts; p++) {
        to[p] = bits == 24 ? x : round_to_bits(x, bits);
        if (bits == 11 && p == 1)
            to[p] = cut_to_bits(x, bits);
        x -= to[p]; /* exact */
    }
}

static int power_of(float x) /* all inputs here are zero or normal */
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return (int)(word >> 23 & 0xff) - 127;
}

static double power(int exponent)
{
    uint64_t word = (uint64_t)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static float instruction(float addend, const float *a, const float *b, int count)
{
    int largest = addend == 0 ? -400 : power_of(addend);
    for (int k = 0; k < count; k++) {
        int p = a[k] == 0 || b[k] == 0 ? -400 : power_of(a[k]) + power_of(b[k]);
        largest = p > largest ? p : largest;
    }
    if (largest == -400)
        return 0;
    double scale = power(25 - largest);
    int64_t sum = (int64_t)(addend * scale);
    for (int k = 0; k < count; k++)
        sum += (int64_t)((double)a[k] * b[k] * scale); /* a cast cuts towards zero */
    double exact = (double)sum;
    uint64_t word;
    memcpy(&word, &exact, sizeof word);
    word &= ~(((uint64_t)1 << 29) - 1); /* 24 significant bits */
    memcpy(&exact, &word, sizeof exact);
    return (float)(exact / scale);
}

/* ---- an element ---- */

static float multiply(const scheme *s, int k_count, float *const a[PARTS], float *const b[PARTS])
{
    float total = 0;
    if (s->products == 0) {
        for (int k = 0; k < k_count; k++)
            total = fmaf(a[0][k], b[0][k], total);
        return total;
    }
    int step = s->bits == 11 ? STEP / 2 : STEP;
    const int(*list)[2] = s->parts == 3 ? of_three : of_two;
    for (int k0 = 0; k0 < k_count; k0 += s->chunk < k_count ? s->chunk : k_count) {
        int end = s->chunk < k_count - k0 ? k0 + s->chunk : k_count, steps = (end - k0) / step;
        float sum = 0;
        for (int i = 0; i < steps * s->products; i++) {
            int product = s->products - 1 - (s->by_steps ? i % s->products : i / steps);
            int k = k0 + (s->by_steps ? i / s->products : i % steps) * step;
            sum = instruction(sum, a[list[product][0]] + k, b[list[product][1]] + k, step);
        }
        total += sum;
    }
    return total;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, the 99.9th percentile and the largest error of the product of `side` rows and columns. */
typedef struct quantiles {
    double of[3];
} quantiles;

/* Computes a product by a scheme in the model of the tensor core, and returns the quantiles of its errors. */
static quantiles measure(const scheme *s, int side, int k_count, const float *A, const float *B, double *errors)
{
    float *parts = malloc(sizeof *parts * 2 * PARTS * (size_t)side * (size_t)k_count);
    size_t plane = (size_t)side * (size_t)k_count, count = (size_t)side * (size_t)side;
    if (!parts)
        exit(1);
    for (size_t i = 0; i < 2 * plane; i++) {
        float of[PARTS] = {0};
        split(i < plane ? A[i] : B[i - plane], s->bits, s->parts, of);
        for (size_t p = 0; p < PARTS; p++)
            parts[(i < plane ? p * plane : (PARTS + p) * plane - plane) + i] = of[p];
    }
    for (size_t i = 0; i < count; i++) {
        float *a[PARTS], *b[PARTS];
        size_t row = i / (size_t)side * (size_t)k_count, col = i % (size_t)side * (size_t)k_count;
        double want = 0, size = 0;
        for (size_t p = 0; p < PARTS; p++) {
            a[p] = parts + p * plane + row;
            b[p] = parts + (PARTS + p) * plane + col;
        }
        for (size_t k = 0; k < (size_t)k_count; k++) {
            double product = (double)A[row + k] * B[col + k];
            want += product;
            size += fabs(product);
        }
        errors[i] = fabs(multiply(s, k_count, a, b) - want) / size;
    }
    qsort(errors, count, sizeof *errors, ascending);
    quantiles q = {{errors[count / 2] * 1e9, errors[count * 999 / 1000] * 1e9, errors[count - 1] * 1e9}};
    printf(" %8.2f %8.1f %8.1f |", q.of[0], q.of[1], q.of[2]);
    fflush(stdout);
    free(parts);
    return q;
}

/* ---- matrices in files: .npy of floats, in order of rows ---- */

static void fail(const char *what)
{
    fprintf(stderr, "split_error: %s\n", what);
    exit(2);
}

static float *room_for(size_t rows, size_t cols)
{
    float *matrix = malloc((rows * cols + 1) * sizeof *matrix);
    if (!matrix)
        fail("out of memory");
    return matrix;
}

static void write_matrix(const char *path, const float *matrix, size_t rows, size_t cols)
{
    char header[128];
    FILE *file = fopen(path, "wb");
    int length = snprintf(header, sizeof header,
                          "\x93NUMPY%c%c%c%c{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", 1, 0, 118,
                          0, rows, cols);
    memset(header + length, ' ', sizeof header - (size_t)length);
    header[sizeof header - 1] = '\n';
    if (!file || fwrite(header, sizeof header, 1, file) != 1 ||
        fwrite(matrix, sizeof *matrix, rows * cols, file) != rows * cols || fclose(file))
        fail(path);
}

static float *read_matrix(const char *path, size_t *rows, size_t *cols)
{
    unsigned char start[10];
    char header[1024];
    FILE *file = fopen(path, "rb");
    if (!file || fread(start, sizeof start, 1, file) != 1 || memcmp(start, "\x93NUMPY\1", 7) != 0)
        fail(path);
    size_t length = start[8] + 256u * start[9];
    if (length >= sizeof header || fread(header, 1, length, file) != length)
        fail(path);
    header[length] = 0;
    const char *shape = strstr(header, "'shape': (");
    if (!strstr(header, "<f4") || !strstr(header, "False") || !shape ||
        sscanf(shape, "'shape': (%zu, %zu)", rows, cols) != 2 || *rows > 1 << 20 || *cols > 1 << 20)
        fail("not a matrix of floats by rows");
    float *matrix = room_for(*rows, *cols);
    if (fread(matrix, sizeof *matrix, *rows * *cols, file) != *rows * *cols)
        fail(path);
    fclose(file);
    return matrix;
}

static int make_files(char **words)
{
    int class = atoi(words[0]);
    size_t m = (size_t)atoi(words[3]), n = (size_t)atoi(words[4]), k = (size_t)atoi(words[5]);
    if (class < 0 || class > 4)
        fail("there are classes 0 to 4");
    float *A = room_for(m, k), *B = room_for(k, n), *column = room_for(k, 1);
    uint64_t state = (uint64_t) class + 1;
    for (size_t i = 0; i < m; i++)
        make(class, 1, (int)k, A + i * k, &state);
    for (size_t j = 0; j < n; j++) {
        make(class, 0, (int)k, column, &state);
        for (size_t i = 0; i < k; i++)
            B[i * n + j] = column[i];
    }
    write_matrix(words[1], A, m, k);
    write_matrix(words[2], B, k, n);
    printf("%s\n", classes[class]);
    free(A);
    free(B);
    free(column);
    return 0;
}

static int read_files(char **words)
{
    size_t m, n, k, k2, m2, n2;
    float *A = read_matrix(words[0], &m, &k), *B = read_matrix(words[1], &k2, &n), *P = read_matrix(words[2], &m2, &n2);
    if (k != k2 || m != m2 || n != n2 || m * n == 0)
        fail("the shapes do not go together");
    size_t count = m * n < 16384 ? m * n : 16384, part = m * n / count; /* the first element of each part of P */
    double *errors = malloc(count * sizeof *errors);
    if (!errors)
        fail("out of memory");
    for (size_t i = 0; i < count; i++) {
        size_t at = i * part + i * 7919 % part;
        double want = 0, size = 0;
        for (size_t x = 0; x < k; x++) {
            double product = (double)A[at / n * k + x] * B[x * n + at % n];
            want += product;
            size += fabs(product);
        }
        errors[i] = size > 0 ? fabs(P[at] - want) / size : 0;
    }
    qsort(errors, count, sizeof *errors, ascending);
    printf("%8.2f %8.1f %8.1f\n", errors[count / 2] * 1e9, errors[count * 999 / 1000] * 1e9, errors[count - 1] * 1e9);
    free(A);
    free(B);
    free(P);
    free(errors);
    return 0;
}

/* Makes matrices, reads the product of a kernel, or computes the table of all schemes. */
int main(int argc, char **argv)
{
    if (argc == 8 && strcmp(argv[1], "make") == 0)
        return make_files(argv + 2);
    if (argc == 5 && strcmp(argv[1], "read") == 0)
        return read_files(argv + 2);
    int k_count = argc > 1 ? atoi(argv[1]) : 4096, side = argc > 2 ? atoi(argv[2]) : 64;
    if (k_count < 16 || k_count % 16 || side < 1 || side > 1024) {
        fprintf(stderr, "usage: split_error [K, a multiple of 16] [ELEMENTS a side, 1 to 1024] [SCHEME]\n");
        return 2;
    }
    size_t plane = (size_t)side * (size_t)k_count;
    float *A = malloc(plane * sizeof *A), *B = malloc(plane * sizeof *B);
    quantiles plain[5];
    int worse = 0;
    double *errors = malloc((size_t)side * (size_t)side * sizeof *errors);
    if (!A || !B || !errors)
        return 1;
    printf("K = %d, %d elements: median, 99.9 %% and largest error, in 1e-9 of the sum of |a b|\n%-30s|", k_count,
           side * side, "");
    for (int c = 0; c < 5; c++)
        printf(" %-26s |", classes[c]);
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        if (s > 0 && argc > 3 && !strstr(schemes[s].name, argv[3]))
            continue;
        printf("\n%-30s|", schemes[s].name);
        for (int c = 0; c < 5; c++) {
            uint64_t state = (uint64_t)c + 1;
            for (int i = 0; i < side; i++)
                make(c, 1, k_count, A + (size_t)i * (size_t)k_count, &state);
            for (int i = 0; i < side; i++)
                make(c, 0, k_count, B + (size_t)i * (size_t)k_count, &state);
            quantiles q = measure(&schemes[s], side, k_count, A, B, errors);
            for (int i = 0; i < 3; i++) {
                if (s == 0)
                    plain[c].of[i] = q.of[i];
                worse += schemes[s].kept && q.of[i] > plain[c].of[i];
            }
        }
    }
    printf("\n%d errors of the catalogue's schemes are larger than those of plain single precision\n", worse);
    free(A);
    free(B);
    free(errors);
    return worse != 0;
}
