/* tune.c - How do I tune from my program and show the progress?
 *
 * Usage: tune specs/examples/first.yaml
 *
 * Without a GPU the times are estimates of the simulated device. The device `sim` gives no times at all. The member
 * `measured` of a result tells whether its time is a measurement on a GPU. */
#include <kiln_tune.h>
#include <stdio.h>

static int fail(kiln_error *error)
{
    fprintf(stderr, "tune: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

/* Kiln calls this function after each sample. Between samples Kiln calls it about ten times a second, with a NULL
 * `sample`. A nonzero return value would end the sweep early; the sweep would keep the samples that it has. */
static int show_progress(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    unsigned *samples = user;
    if (sample) {
        ++*samples;
        fprintf(stderr, "%llu of %llu, %s\n", (unsigned long long)progress->done, (unsigned long long)progress->total,
                sample->status == KILN_OK ? "works" : sample->message);
    }
    return 0;
}

int main(int count, char **arguments)
{
    unsigned samples = 0;
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    /* `max_seconds` or `max_configurations` would end the sweep early; a search strategy then chooses what to try. */
    kiln_tune_options options = {.size = sizeof options, .callback = show_progress, .user = &samples};
    if (kiln_engine_open(NULL, &engine, &error) ||
        kiln_spec_load(engine, count > 1 ? arguments[1] : "first", &spec, &error) ||
        kiln_tune(engine, spec, &options, &tuning, &error))
        return fail(error);

    const kiln_sample *best = kiln_tuning_sample(tuning, 0); /* the samples are ranked: the best sample comes first,
                                                              * failed samples come last */
    printf("%u samples, the best is", samples);
    for (size_t i = 0; i < best->param_count; i++)
        printf(" %s=%lld", best->params[i].name, (long long)best->params[i].value.as.i);
    printf(", %s\n", best->result->measured ? "measured" : best->result->estimated ? "estimated" : "simulated");
    kiln_tuning_free(tuning);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return 0;
}
