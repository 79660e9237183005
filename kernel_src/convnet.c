/* convnet.c - the reference convnet_f64 of a convolution layer, forward, with all products and sums in double:
 *
 *     y[n][k][p][q] = sum over c, r, s of x[n][c'][p STRIDE_H + r DILATION_H - PAD_H][q STRIDE_W + ...] w[k][c][r][s]
 *
 * Here c' is the channel of the image that is channel c of the group of filter k. The image is surrounded by zeros. The
 * reference multiplies these zeros like other numbers, so that an infinite weight gives NaN there. The arrays x and y
 * have the shape N x C x H x W, and w has the shape K x C x R x S. With NHWC, x and y have the shape N x H x W x C, and
 * w has the shape K x R x S x C. */
#include <inttypes.h>

#include "catalogue.h"

typedef struct strides { /* the number of elements between neighbours along each dimension */
    int64_t outer, channel, row, column;
} strides;

typedef struct layer {
    const float *x, *w;
    float *y;
    int64_t images, channels, height, width;         /* the shape of x */
    int64_t filters, filter_channels, rows, columns; /* the shape of w */
    int64_t out_height, out_width;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, nhwc;
    strides in, weight, out;
    double **scratch; /* for each thread, a row of y for all filters of a group, and the line of gather() */
} layer;

/* Returns the strides of an array of OUTER x CHANNELS x HEIGHT x WIDTH elements. With `nhwc`, the array has OUTER x
 * HEIGHT x WIDTH x CHANNELS elements. */
static strides strides_of(int64_t nhwc, int64_t channels, int64_t height, int64_t width)
{
    strides s = {channels * height * width, height * width, width, 1};
    if (nhwc)
        s = (strides){channels * height * width, 1, width * channels, channels};
    return s;
}

/* Sets line[q] to the element of x that tap (r, s) of channel c reads for point q of row p of image n. A tap is one
 * element of a filter. */
static void gather(const layer *l, int64_t n, int64_t c, int64_t p, int64_t r, int64_t s, double *line)
{
    int64_t h = p * l->stride_h + r * l->dilation_h - l->pad_h;
    const float *row = l->x + n * l->in.outer + c * l->in.channel;
    for (int64_t q = 0; q < l->out_width; q++) {
        int64_t w = q * l->stride_w + s * l->dilation_w - l->pad_w;
        bool inside = h >= 0 && h < l->height && w >= 0 && w < l->width;
        line[q] = inside ? (double)row[h * l->in.row + w * l->in.column] : 0.0;
    }
}

/* Computes row p of all filters of a group of an image. */
static void make_row(void *user, size_t index, size_t worker)
{
    const layer *l = user;
    int64_t p = (int64_t)index % l->out_height, image_group = (int64_t)index / l->out_height;
    int64_t group = image_group % l->groups, n = image_group / l->groups, width = l->out_width;
    int64_t filters = l->filters / l->groups, first = group * filters;
    double *sums = l->scratch[worker], *line = sums + filters * width;
    for (int64_t i = 0; i < filters * width; i++)
        sums[i] = 0;
    for (int64_t c = 0; c < l->filter_channels; c++)
        for (int64_t r = 0; r < l->rows; r++)
            for (int64_t s = 0; s < l->columns; s++) {
                gather(l, n, group * l->filter_channels + c, p, r, s, line);
                const float *weight = l->w + first * l->weight.outer + c * l->weight.channel + r * l->weight.row +
                                      s * l->weight.column;
                for (int64_t k = 0; k < filters; k++) {
                    double factor = (double)weight[k * l->weight.outer], *sum = sums + k * width;
                    for (int64_t q = 0; q < width; q++)
                        sum[q] += factor * line[q];
                }
            }
    for (int64_t k = 0; k < filters; k++)
        for (int64_t q = 0; q < width; q++)
            l->y[n * l->out.outer + (first + k) * l->out.channel + p * l->out.row + q * l->out.column] =
                (float)sums[k * width + q];
}

static kiln_status read_settings(kiln_call *call, layer *l)
{
    const struct {
        const char *name;
        int64_t *to, least;
    } settings[] = {{"STRIDE_H", &l->stride_h, 1},     {"STRIDE_W", &l->stride_w, 1},
                    {"PAD_H", &l->pad_h, 0},           {"PAD_W", &l->pad_w, 0},
                    {"DILATION_H", &l->dilation_h, 1}, {"DILATION_W", &l->dilation_w, 1},
                    {"GROUPS", &l->groups, 1},         {"NHWC", &l->nhwc, 0}};
    for (size_t i = 0; i < KILN__COUNT(settings); i++) {
        if (kiln_call_int(call, settings[i].name, NULL, settings[i].to) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
        if (*settings[i].to < settings[i].least || *settings[i].to > INT32_MAX)
            return kiln_call_fail(call, "%s is %" PRId64 ", and must be at least %" PRId64 " and below 2^31",
                                  settings[i].name, *settings[i].to, settings[i].least);
    }
    return KILN_OK;
}

/* Returns the size of dimension `which` (0 to 3) in the order of N x C x H x W. */
static int64_t extent(const kiln_array *array, int64_t nhwc, int which)
{
    static const int places[] = {0, 3, 1, 2};
    return (int64_t)array->shape[nhwc ? places[which] : which];
}

/* Returns the number of points of y that a filter gives along a dimension. */
static int64_t points(int64_t size, int64_t pad, int64_t taps, int64_t dilation, int64_t stride)
{
    int64_t room = size + 2 * pad - dilation * (taps - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
}

/* Reads the arrays of the layer, and sets its sizes and strides. It fails unless the shape of y follows from x, w, the
 * padding, the dilation and the strides. Therefore the loops of the reference need not check their indexes. */
static kiln_status read_shapes(kiln_call *call, layer *l)
{
    const kiln_array *x, *w;
    kiln_array *y;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_array(call, "w", &w) != KILN_OK ||
        kiln_call_output(call, "y", &y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (x->type != KILN_f32 || y->type != KILN_f32 || w->type != KILN_f32)
        return kiln_call_fail(call, "x, w and y must be of f32");
    if (x->dims != 4 || w->dims != 4 || y->dims != 4)
        return kiln_call_fail(call, "x, w and y must have four dimensions, not %d, %d and %d", x->dims, w->dims,
                              y->dims);
    l->images = extent(x, l->nhwc, 0), l->channels = extent(x, l->nhwc, 1);
    l->height = extent(x, l->nhwc, 2), l->width = extent(x, l->nhwc, 3);
    l->filters = extent(w, l->nhwc, 0), l->filter_channels = extent(w, l->nhwc, 1);
    l->rows = extent(w, l->nhwc, 2), l->columns = extent(w, l->nhwc, 3);
    l->out_height = points(l->height, l->pad_h, l->rows, l->dilation_h, l->stride_h);
    l->out_width = points(l->width, l->pad_w, l->columns, l->dilation_w, l->stride_w);
    if (l->filter_channels * l->groups != l->channels || l->filters % l->groups != 0)
        return kiln_call_fail(call,
                              "%" PRId64 " groups of %" PRId64 " channels do not make %" PRId64
                              " channels, or do not divide %" PRId64 " filters",
                              l->groups, l->filter_channels, l->channels, l->filters);
    if (extent(y, l->nhwc, 0) != l->images || extent(y, l->nhwc, 1) != l->filters ||
        extent(y, l->nhwc, 2) != l->out_height || extent(y, l->nhwc, 3) != l->out_width)
        return kiln_call_fail(call,
                              "y must be of %" PRId64 " images, %" PRId64 " channels, %" PRId64 " x %" PRId64 " points",
                              l->images, l->filters, l->out_height, l->out_width);
    l->x = x->data, l->w = w->data, l->y = y->data;
    l->in = strides_of(l->nhwc, l->channels, l->height, l->width);
    l->weight = strides_of(l->nhwc, l->filter_channels, l->rows, l->columns);
    l->out = strides_of(l->nhwc, l->filters, l->out_height, l->out_width);
    return KILN_OK;
}

static kiln_status convnet_f64(void *user, kiln_call *call)
{
    (void)user;
    layer l = {0};
    if (read_settings(call, &l) != KILN_OK || read_shapes(call, &l) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    size_t rows = (size_t)(l.images * l.groups * l.out_height);
    if (rows == 0 || l.filters == 0 || l.out_width == 0)
        return KILN_OK;
    size_t threads = kiln__cpu_count() < rows ? kiln__cpu_count() : rows;
    l.scratch = kiln__calloc(kiln_call_allocator(call), threads, sizeof *l.scratch);
    bool enough = l.scratch != NULL;
    for (size_t i = 0; enough && i < threads; i++) {
        l.scratch[i] = kiln__calloc(kiln_call_allocator(call), (size_t)((l.filters / l.groups + 1) * l.out_width),
                                    sizeof(double));
        enough = l.scratch[i] != NULL;
    }
    if (enough)
        kiln__parallel(threads, rows, make_row, &l);
    for (size_t i = 0; l.scratch && i < threads; i++)
        kiln__free(kiln_call_allocator(call), l.scratch[i]);
    kiln__free(kiln_call_allocator(call), l.scratch);
    return enough ? KILN_OK : kiln_call_fail(call, "out of host memory");
}

KILN__FAMILY(convnet, KILN__HOST("convnet_f64", KILN_HOST_REFERENCE, convnet_f64,
                                 "x, w, STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS, NHWC", "y"))
