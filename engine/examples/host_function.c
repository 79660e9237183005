/* host_function.c - How do I check a kernel against a function of my program?
 *
 * Usage: host_function specs/examples/first.yaml
 *
 * The spec is the string `text` below. The path in the command line only gives the folder in which the kernel of the
 * spec, first.cu, is. The spec names a function, `axpy_on_host`, which the program registers before it parses the spec.
 * Functions can also make inputs (KILN_HOST_INPUT) and be steps of a variant (KILN_HOST_STEP). */
#include <kiln.h>
#include <stdio.h>

static const char text[] = "kiln: 1\n"
                           "name: axpy\n"
                           "source: first.cu\n"
                           "sizes: {default: {N: 1000}}\n"
                           "params: {BLOCK: [128], ITEMS: [2]}\n"
                           "buffers:\n"
                           "  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n"
                           "  y: {type: f32, shape: [N], fill: 3, out: true}\n"
                           "verify: {y: {against: {host: axpy_on_host, FACTOR: 2.0}}}\n"
                           "launch: {kernel: axpy, grid: ['ceil_div(N, 256)'], block: [128], args: [2.0, x, y, N]}\n";

/* A reference gets each buffer under the buffer's name, with its content before the launch. The function writes the
 * expected outputs. */
static kiln_status axpy_on_host(void *user, kiln_call *call)
{
    unsigned *calls = user;
    const kiln_array *x = NULL, *before = NULL;
    kiln_array *y = NULL;
    double factor = 0;
    if (kiln_call_array(call, "x", &x) || kiln_call_array(call, "y", &before) || kiln_call_output(call, "y", &y) ||
        kiln_call_float(call, "FACTOR", NULL, &factor))
        return KILN_ERROR_HOST_FUNCTION; /* Kiln has noted the reason for the author of the spec */
    for (uint64_t i = 0; i < x->shape[0]; i++)
        ((float *)y->data)[i] = (float)factor * ((const float *)x->data)[i] + ((const float *)before->data)[i];
    ++*calls;
    return KILN_OK;
}

int main(int count, char **arguments)
{
    unsigned calls = 0; /* the counter must live as long as the engine */
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    const char *beside = count > 1 ? arguments[1]
                                   : "first.yaml"; /* Kiln searches first.cu in the folder of this path */
    if (kiln_engine_open(NULL, &engine, &error) ||
        kiln_register_host(engine, "axpy_on_host", KILN_HOST_REFERENCE, axpy_on_host, &calls, &error) ||
        kiln_spec_parse(engine, text, sizeof text - 1, beside, &spec, &error) ||
        kiln_plan_open(engine, spec, NULL, &plan, &error) || kiln_plan_run(plan, NULL, &result, &error))
        return fprintf(stderr, "host_function: %s\n", kiln_error_message(error)), 1;
    printf("verified: %d, calls of the function: %u\n", result->verified, calls);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return 0;
}
