/* threads.c - How do eight threads share one engine?
 *
 * Usage: threads specs/examples/launch_only.yaml
 *
 * Many threads may use one engine and one spec at the same time. Only one thread at a time may use a plan or an error,
 * so each thread opens its own plan. All plans of one configuration share the compiled code. */
#include <kiln.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8, N = 5000 };

static struct worker {
    pthread_t thread;
    int right; /* the number of results of this thread that are right */
} workers[THREADS];
static kiln_engine *engine; /* shared by all threads */
static kiln_spec *spec;

static void *work(void *argument)
{
    struct worker *self = argument;
    int index = (int)(self - workers);
    float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(index + i);             /* each thread has different data */
    kiln_choice choice = {.size_set = "tiny"}; /* the size set `tiny` sets N */
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    if (kiln_plan_open(engine, spec, &choice, &plan, &error) || kiln_plan_write(plan, "x", x, sizeof x, &error) ||
        kiln_plan_launch(plan, NULL, &error) || kiln_plan_read(plan, "y", y, sizeof y, &error))
        fprintf(stderr, "thread %d: %s\n", index, kiln_error_message(error));
    for (int i = 0; i < N && !error; i++)
        self->right += y[i] == 0.5f * x[i];
    kiln_error_free(error);
    kiln_plan_close(plan);
    return NULL;
}

int main(int count, char **arguments)
{
    int right = 0;
    kiln_error *error = NULL;
    if (kiln_engine_open(NULL, &engine, &error) ||
        kiln_spec_load(engine, count > 1 ? arguments[1] : "launch_only", &spec, &error))
        return fprintf(stderr, "threads: %s\n", kiln_error_message(error)), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return fprintf(stderr, "threads: no thread\n"), 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        right += workers[i].right;
    }
    printf("%d of %d results are right\n", right, THREADS * N);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return right == THREADS * N ? 0 : 1;
}
