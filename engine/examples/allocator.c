/* allocator.c - How does Kiln use my allocator, and where does its log go?
 *
 * Usage: allocator specs/examples/first.yaml
 *
 * Two functions of a program plug into an engine. The engine takes all of its host memory from the allocator, but
 * NVRTC, SQLite and the driver do not. The log callback gets the messages that a command would print, because the
 * library itself prints nothing. */
#include <kiln.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct counter {
    atomic_long live, calls;
} counter;

/* Works like realloc(): if `pointer` is NULL it allocates, and if `size` is 0 it frees. Kiln may call this function
 * from any thread. */
static void *resize(void *user, void *pointer, size_t size)
{
    counter *counts = user;
    atomic_fetch_add(&counts->calls, 1);
    if (size == 0) {
        atomic_fetch_sub(&counts->live, pointer ? 1 : 0);
        free(pointer);
        return NULL;
    }
    void *made = realloc(pointer, size);
    if (made && !pointer)
        atomic_fetch_add(&counts->live, 1);
    return made; /* If this function returns NULL, the function of Kiln that called it returns KILN_ERROR_MEMORY */
}

static void write_log(void *user, kiln_log_level level, const char *message)
{
    static const char *const names[] = {"debug", "info", "warning"};
    fprintf(user, "%s: %s\n", names[level], message);
}

int main(int count, char **arguments)
{
    counter counts = {0};
    kiln_allocator allocator = {.resize = resize, .user = &counts};
    kiln_options options = {.size = sizeof options, .allocator = &allocator, .log = write_log, .log_user = stderr};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    if (kiln_engine_open(&options, &engine, &error) ||
        kiln_spec_load(engine, count > 1 ? arguments[1] : "first", &spec, &error) ||
        kiln_plan_open(engine, spec, NULL, &plan, &error) || kiln_plan_run(plan, NULL, NULL, &error))
        return fprintf(stderr, "allocator: %s\n", kiln_error_message(error)), 1;
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    printf("the allocator was %s, %ld allocations are left\n", counts.calls > 100 ? "used" : "not used", counts.live);
    return counts.live == 0 ? 0 : 1;
}
