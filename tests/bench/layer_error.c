/* layer_error.c - the errors of a convolution layer's points, for the variants of specs/convnet.yaml and for others.
 *
 *     layer_error make CLASS x.npy w.npy N C H W K R S GROUPS NHWC
 *     layer_error read x.npy w.npy y.npy N C H W K R S GROUPS NHWC STRIDE PAD
 *
 * `make` writes an image and filters of a class: 0 uniform [-1, 1], 1 uniform [0, 1], 2 normal, 3 exponents spread over
 * 2^+-20. `read` compares 20,000 points of y with sums in long double. It prints the median, the 99.9th percentile and the
 * largest of the errors, in 1e-9 of the sum of |x w|. tests/bench/layer_errors.sh calls both.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20000, CLASSES = 4 };

struct layer {
    long images, channels, height, width, filters, rows, columns, groups, last, stride, pad;
};

static uint64_t state = 1;

static double uniform(void) /* [0, 1) */
{
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static float number(int class)
{
    const double u = uniform();
    if (class == 0)
        return (float)(2 * u - 1);
    if (class == 1)
        return (float)u;
    if (class == 2)
        return (float)(sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * uniform()));
    return (float)((2 * u - 1) * exp2(40 * uniform() - 20));
}

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "layer_error: %s %s\n", what, name);
    exit(1);
}

/* Writes a .npy file of single precision, version 1.0: 128 bytes, then the numbers. */
static void write_numbers(const char *name, const long shape[4], int class)
{
    FILE *file = fopen(name, "wb");
    if (!file)
        fail("cannot write", name);
    char header[119], text[119];
    const int length = snprintf(text, sizeof text,
                                "{'descr': '<f4', 'fortran_order': False, 'shape': (%ld, %ld, %ld, %ld), }", shape[0],
                                shape[1], shape[2], shape[3]);
    memset(header, ' ', sizeof header);
    memcpy(header, text, (size_t)length);
    header[117] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(header, 1, 118, file);
    for (long i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; i++) {
        const float value = number(class);
        fwrite(&value, sizeof value, 1, file);
    }
    if (fclose(file) != 0)
        fail("cannot write", name);
}

/* Reads a .npy file of version 1.0, or a file that has only the numbers. */
static float *read_numbers(const char *name, long count)
{
    FILE *file = fopen(name, "rb");
    unsigned char start[10] = {0};
    float *numbers = malloc((size_t)count * sizeof *numbers + 1);
    if (!file || !numbers || fread(start, 1, 10, file) != 10)
        fail("cannot read", name);
    const long header = memcmp(start, "\x93NUMPY", 6) == 0 ? 10 + start[8] + 256 * start[9] : 0;
    if (fseek(file, header, SEEK_SET) != 0 || fread(numbers, sizeof *numbers, (size_t)count, file) != (size_t)count)
        fail("cannot read", name);
    fclose(file);
    return numbers;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double error_at(const struct layer *l, const float *x, const float *w, float y, long image, long filter, long p,
                       long q)
{
    long double sum = 0, size = 0;
    const long channels = l->channels / l->groups, first = filter / (l->filters / l->groups) * channels;
    for (long c = 0; c < channels; c++)
        for (long r = 0; r < l->rows; r++)
            for (long s = 0; s < l->columns; s++) {
                const long row = p * l->stride + r - l->pad, column = q * l->stride + s - l->pad, from = first + c;
                if (row < 0 || row >= l->height || column < 0 || column >= l->width)
                    continue;
                const long at = l->last ? ((image * l->height + row) * l->width + column) * l->channels + from
                                        : ((image * l->channels + from) * l->height + row) * l->width + column;
                const long of = l->last ? ((filter * l->rows + r) * l->columns + s) * channels + c
                                        : ((filter * channels + c) * l->rows + r) * l->columns + s;
                const long double product = (long double)x[at] * w[of];
                sum += product;
                size += fabsl(product);
            }
    return size > 0 ? (double)(fabsl(y - sum) / size) : 0;
}

static struct layer layer_of(char **words, int count)
{
    long number[11] = {0};
    for (int i = 0; i < count; i++)
        number[i] = strtol(words[i], NULL, 10);
    return (struct layer){number[0], number[1], number[2], number[3], number[4], number[5],
                          number[6], number[7], number[8], number[9], number[10]};
}

/* Makes the inputs of a layer, or reads the results and prints their errors. */
int main(int argc, char **argv)
{
    if (argc == 14 && strcmp(argv[1], "make") == 0) {
        const struct layer l = layer_of(argv + 5, 9);
        const int class = atoi(argv[2]);
        const long c = l.channels / l.groups;
        const long images[2][4] = {{l.images, l.channels, l.height, l.width},
                                   {l.images, l.height, l.width, l.channels}};
        const long filters[2][4] = {{l.filters, c, l.rows, l.columns}, {l.filters, l.rows, l.columns, c}};
        write_numbers(argv[3], images[l.last], class);
        write_numbers(argv[4], filters[l.last], class);
        return 0;
    }
    if (argc != 16 || strcmp(argv[1], "read") != 0)
        fail("see the comment in", "layer_error.c");
    const struct layer l = layer_of(argv + 5, 11);
    const long high = (l.height + 2 * l.pad - l.rows) / l.stride + 1,
               wide = (l.width + 2 * l.pad - l.columns) / l.stride + 1;
    const float *x = read_numbers(argv[2], l.images * l.channels * l.height * l.width);
    const float *w = read_numbers(argv[3], l.filters * (l.channels / l.groups) * l.rows * l.columns);
    const float *y = read_numbers(argv[4], l.images * l.filters * high * wide);
    static double errors[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        const long image = (long)(uniform() * (double)l.images), filter = (long)(uniform() * (double)l.filters);
        const long p = (long)(uniform() * (double)high), q = (long)(uniform() * (double)wide);
        const long at = l.last ? ((image * high + p) * wide + q) * l.filters + filter
                               : ((image * l.filters + filter) * high + p) * wide + q;
        errors[i] = error_at(&l, x, w, y[at], image, filter, p, q);
    }
    qsort(errors, SAMPLES, sizeof *errors, ascending);
    printf("%.1f / %.1f / %.1f\n", 1e9 * errors[SAMPLES / 2], 1e9 * errors[SAMPLES * 999 / 1000],
           1e9 * errors[SAMPLES - 1]);
    return 0;
}
