/* launch.c - How do I load a spec and launch its kernel on my data?
 *
 * Usage: launch specs/examples/first.yaml
 *
 * A program makes objects in this order: an engine (a device, a compiler, a cache), a spec, a plan (compiled code,
 * ready to launch). It frees these objects in the opposite order. Each function that can fail returns KILN_OK, which
 * is 0, or sets the error. Therefore a chain of || ends at the first failure. */
#include <kiln.h>
#include <stdio.h>

enum { N = 1000 };

static int fail(kiln_error *error)
{
    fprintf(stderr, "launch: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

int main(int count, char **arguments)
{
    static float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }

    /* The spec declares sizes and params. Each size and param that this list does not name has its default. */
    kiln_setting sizes[] = {{"N", {KILN_INT, {N}}}};
    kiln_setting params[] = {{"BLOCK", {KILN_INT, {256}}}, {"ITEMS", {KILN_INT, {4}}}};
    kiln_choice choice = {.params = params, .param_count = 2, .sizes = sizes, .size_count = 1};

    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    if (kiln_engine_open(NULL, &engine, &error) ||
        kiln_spec_load(engine, count > 1 ? arguments[1] : "first", &spec, &error) ||
        /* compiles the kernel, or reads its code from the cache */
        kiln_plan_open(engine, spec, &choice, &plan, &error) || kiln_plan_write(plan, "x", x, sizeof x, &error) ||
        kiln_plan_write(plan, "y", y, sizeof y, &error) ||
        kiln_plan_launch(plan, NULL, &error) ||         /* launches the kernel on the default stream */
        kiln_plan_read(plan, "y", y, sizeof y, &error)) /* waits for the launch, then copies the buffer to the host */
        return fail(error);

    for (int i = 0; i < N; i++)
        if (y[i] != 2 * x[i] + 1)
            return fprintf(stderr, "launch: y[%d] is wrong\n", i), 1;
    printf("%d results are right\n", N);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return 0;
}
