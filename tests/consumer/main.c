/* A program outside Kiln's tree. It loads a spec of the catalogue, multiplies two matrices with the best
 * configuration that the file beside it knows, and checks the product. */
#include <kiln_catalogue.h>
#include <kiln_tune.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 50, N = 70, K = 30 };

static int fail(kiln_error *error)
{
    fprintf(stderr, "consumer: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

int main(int count, char **arguments)
{
    static float a[M][K], b[K][N], p[M][N];
    for (int i = 0; i < M * K; i++)
        a[0][i] = (float)(i % 7) - 3;
    for (int i = 0; i < K * N; i++)
        b[0][i] = (float)(i % 5) - 2;

    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    kiln_setting sizes[] = {{"M", {KILN_INT, {M}}}, {"N", {KILN_INT, {N}}}, {"K", {KILN_INT, {K}}}};
    kiln_choice choice = {.variant = "tiled", .sizes = sizes, .size_count = 3};
    kiln_knowledge *known = NULL;
    kiln_best *best = NULL;
    kiln_best_options options = {.size = sizeof options};

    if (kiln_engine_open(NULL, &engine, &error) ||
        kiln_catalogue_register(engine, &error) || /* registers the reference that the spec names */
        kiln_spec_load(engine, count > 1 ? arguments[1] : "matmul", &spec, &error) ||
        kiln_knowledge_load(engine, count > 2 ? arguments[2] : "known.yaml", &known, &error))
        return fail(error);
    options.knowledge = known;
    /* compiles the code, or takes it from the cache */
    if (kiln_plan_open_best(engine, spec, &choice, &options, &plan, &best, &error) ||
        kiln_plan_write(plan, "A", a, sizeof a, &error) || kiln_plan_write(plan, "B", b, sizeof b, &error) ||
        kiln_plan_launch(plan, NULL, &error) || kiln_plan_read(plan, "P", p, sizeof p, &error))
        return fail(error);

    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            float want = 0;
            for (int k = 0; k < K; k++)
                want += a[row][k] * b[k][column];
            if (fabsf(p[row][column] - want) > 1e-4f) {
                fprintf(stderr, "consumer: P[%d][%d] is %g, not %g\n", row, column, p[row][column], want);
                return 1;
            }
        }
    printf("consumer: %d x %d product is right (kiln %s), %s known from %s\n", M, N, kiln_version(), best->variant,
           kiln_best_text(best->from));
    kiln_best_free(best);
    kiln_knowledge_free(known);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return 0;
}
