/* Tests convnet_f64, the reference of convolution layers. */
#include <math.h>

#include "check.h"
#include "hosts.h"

enum { STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS, NHWC, SETTINGS };

typedef struct layer { /* extents in the order of the arrays */
    uint64_t x[4], w[4], y[4];
    int64_t settings[SETTINGS];
} layer;

static const kiln__host *reference(void) { return builtin("convnet_f64"); }

static kiln_array array_of(const uint64_t *shape, const float *values)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 4, shape, &array, &error), error);
    uint64_t count = shape[0] * shape[1] * shape[2] * shape[3];
    if (values && count > 0)
        memcpy(array.data, values, count * sizeof *values);
    return array;
}

static kiln_status convolve(const layer *l, const kiln_allocator *mem, kiln_array *x, kiln_array *w, kiln_array *y,
                            kiln_error **error)
{
    static const char *const names[SETTINGS] = {"STRIDE_H",   "STRIDE_W",   "PAD_H",  "PAD_W",
                                                "DILATION_H", "DILATION_W", "GROUPS", "NHWC"};
    kiln__call_arg args[SETTINGS + 3] = {
        {.name = "x", .kind = KILN__CALL_ARRAY, .array = x},
        {.name = "w", .kind = KILN__CALL_ARRAY, .array = w},
        {.name = "y", .kind = KILN__CALL_ARRAY, .array = y, .writable = true},
    };
    for (int i = 0; i < SETTINGS; i++)
        args[3 + i] = (kiln__call_arg){
            .name = names[i], .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = l->settings[i]}};
    kiln_call call = {.mem = mem, .arg_count = SETTINGS + 3, .args = args};
    kiln_status status = kiln__call(&call, reference(), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static void expect(layer l, const float *x, const float *w, const float *want)
{
    kiln_array arrays[3] = {array_of(l.x, x), array_of(l.w, w), array_of(l.y, NULL)};
    kiln_error *error = NULL;
    CHECK_OK(convolve(&l, NULL, &arrays[0], &arrays[1], &arrays[2], &error), error);
    for (uint64_t i = 0; i < l.y[0] * l.y[1] * l.y[2] * l.y[3]; i++) {
        float got = ((const float *)arrays[2].data)[i];
        CHECK(isnan(want[i]) ? isnan(got) : got == want[i]);
    }
    for (int i = 0; i < 3; i++)
        kiln__array_free(NULL, &arrays[i]);
}

static void test_by_hand(void)
{
    static const float four[] = {1, 2, 3, 4}, tens[] = {1, 10, 100, 1000};
    /* Two taps are two columns apart, move by two, and begin one column before the image: they give 0 and 2, then 2
     * and 4. */
    expect((layer){{1, 1, 1, 4}, {1, 1, 1, 2}, {1, 1, 1, 2}, {1, 2, 0, 1, 1, 2, 1, 0}}, four, (float[]){10, 1},
           (float[]){2, 24});
    expect((layer){{1, 1, 4, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}, {2, 1, 1, 0, 2, 1, 1, 0}}, four, (float[]){10, 1},
           (float[]){2, 24});
    /* Two channels: each of two filters adds them up, or there are groups of one channel and two filters. */
    expect((layer){{1, 2, 1, 1}, {2, 2, 1, 1}, {1, 2, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 0}}, (float[]){3, 5}, tens,
           (float[]){53, 5300});
    expect((layer){{1, 2, 1, 1}, {4, 1, 1, 1}, {1, 4, 1, 1}, {1, 1, 0, 0, 1, 1, 2, 0}}, (float[]){3, 5}, tens,
           (float[]){3, 30, 500, 5000});
    /* The filter is not reversed. Channels come first or last. There are two images and two filters. */
    expect((layer){{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 0}}, four, tens, (float[]){4321});
    expect((layer){{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 1}}, four, tens, (float[]){4321});
    expect((layer){{1, 2, 1, 2}, {1, 2, 1, 2}, {1, 1, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 0}}, four, tens, (float[]){4321});
    expect((layer){{2, 1, 2, 1}, {2, 1, 1, 1}, {2, 1, 2, 2}, {1, 1, 0, 0, 1, 1, 1, 1}}, four, (float[]){1, 10},
           (float[]){1, 10, 2, 20, 3, 30, 4, 40});
    /* The sums must be in double, because 2^24 + 1 is not a float. */
    expect((layer){{1, 3, 1, 1}, {1, 3, 1, 1}, {1, 1, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 0}}, (float[]){16777216, 1, 1},
           (float[]){1, 1, 1}, (float[]){16777218});
}

static void test_nothing(void)
{
    /* Edge cases: no image, no channel (all sums are zero), no filter, and a filter that is larger than the image. */
    expect((layer){{0, 1, 2, 2}, {1, 1, 1, 1}, {0, 1, 2, 2}, {1, 1, 0, 0, 1, 1, 1, 0}}, NULL, (float[]){1}, NULL);
    expect((layer){{1, 0, 1, 2}, {1, 0, 1, 1}, {1, 1, 1, 2}, {1, 1, 0, 0, 1, 1, 1, 0}}, NULL, NULL, (float[]){0, 0});
    expect((layer){{1, 1, 1, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 0, 1, 1, 1, 0}}, (float[]){1}, NULL, NULL);
    expect((layer){{1, 1, 1, 1}, {1, 1, 4, 1}, {1, 1, 0, 1}, {1, 1, 1, 0, 1, 1, 1, 0}}, (float[]){1},
           (float[]){1, 1, 1, 1}, NULL);
}

/* The zeros around the image are multiplied. */
static void test_special(void)
{
    expect((layer){{1, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 1, 2}, {1, 1, 0, 1, 1, 1, 1, 0}}, (float[]){1},
           (float[]){INFINITY, 1}, (float[]){NAN, INFINITY});
    expect((layer){{1, 1, 1, 3}, {1, 1, 1, 2}, {1, 1, 1, 2}, {1, 1, 0, 0, 1, 1, 1, 0}},
           (float[]){1, INFINITY, -INFINITY}, (float[]){1, 1}, (float[]){INFINITY, NAN});
}

static void fails(layer l, const char *message)
{
    kiln_array arrays[3] = {array_of(l.x, NULL), array_of(l.w, NULL), array_of(l.y, NULL)};
    kiln_error *error = NULL;
    CHECK(convolve(&l, NULL, &arrays[0], &arrays[1], &arrays[2], &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
    for (int i = 0; i < 3; i++)
        kiln__array_free(NULL, &arrays[i]);
}

static void test_errors(void)
{
    fails((layer){{1, 1, 2, 2}, {1, 1, 1, 1}, {1, 1, 2, 2}, {1, 0, 0, 0, 1, 1, 1, 0}},
          "host function 'convnet_f64': STRIDE_W is 0, and must be at least 1 and below 2^31");
    fails((layer){{1, 1, 2, 2}, {1, 1, 1, 1}, {1, 1, 2, 1}, {1, 1, 0, 0, 1, 1, 1, 0}},
          "host function 'convnet_f64': y must be of 1 images, 1 channels, 2 x 2 points");
    fails((layer){{1, 4, 2, 2}, {3, 2, 1, 1}, {1, 3, 2, 2}, {1, 1, 0, 0, 1, 1, 2, 0}},
          "host function 'convnet_f64': 2 groups of 2 channels do not make 4 channels, or do not divide 3 filters");
}

static void test_memory(void)
{
    const layer l = {{1, 1, 3, 2}, {1, 1, 1, 1}, {1, 1, 3, 2}, {1, 1, 0, 0, 1, 1, 1, 0}};
    bool failed = true;
    for (long i = 0; failed; i++) {
        check_oom oom = {.countdown = i};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_array arrays[3] = {array_of(l.x, NULL), array_of(l.w, NULL), array_of(l.y, NULL)};
        kiln_error *error = NULL;
        failed = convolve(&l, &mem, &arrays[0], &arrays[1], &arrays[2], &error) != KILN_OK;
        CHECK(failed == oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
        for (int a = 0; a < 3; a++)
            kiln__array_free(NULL, &arrays[a]);
    }
}

static const check_case cases[] = {
    {"by hand", test_by_hand}, {"nothing", test_nothing}, {"special values", test_special},
    {"errors", test_errors},   {"memory", test_memory},
};
KILN_SUITE("convnet", cases)
