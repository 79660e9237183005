/* draft.c - drafts a spec for a kernel of a CUDA source. It reads the source, compiles it, runs the drafted spec on the
 * simulated device to correct its guesses, and writes the spec. */
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "draft.h"
#include "engine.h"
#include "expr.h"

enum { MOST_SOURCE = 16 << 20 };
/* A trial run has a limit in steps of the simulated device, so that a source gives the same draft at any load of the
 * machine. A step is one instruction of a warp. The wall time of a trial run is limited too, as a last resort. */
#define TRIAL_STEPS (UINT64_C(1) << 28)
#define VALUES_STEPS (UINT64_C(1) << 30) /* the steps for the trial runs of all values of tuning parameters together */
#define SLOW_STEPS (UINT64_C(1) << 24)   /* if the first run takes more steps than this, smaller sizes are tried */
#define FIRST_STEPS (UINT64_C(1) << 26)  /* the steps that the first run may take while the sizes may become smaller */
#define TRIAL_SECONDS 1800.0
#define MOST_ROUNDS 12 /* the most runs in the trial with the default values */
/* the most trial runs with other values of tuning parameters, because each of them needs a compile */
#define MOST_VALUES 24
#define MOST_WIDENED 2       /* how often the arrays of the first run may become larger */
#define MOST_SHARED_EACH 512 /* the most bytes of an extern __shared__ array for each thread */

static const char unwritten_part[] = "a part of an output is not written";
/* a trial run that ends by this limit proves nothing about the kernel */
static const char too_many_steps[] = "the trial takes too many steps";

/* ---- the kernel ---- */

/* Chooses the kernel with this name, or the first kernel if `kernel` is NULL. The list of kernels begins with the
 * kernels of the source. Then come the kernels of the project's headers, because a source may be only a list of
 * #includes. */
static kiln_status choose(kiln__draft *draft, const char *kernel, kiln_error **error)
{
    const kiln__scan *scan = draft->scan;
    kiln__text list = {.mem = draft->mem};
    size_t count = 0; /* the number of kernels in the source and its headers, without the file with the launch */
    while (count < scan->kernel_count && (!scan->launch || scan->kernels[count].params_from < scan->launch))
        count++;
    for (size_t i = 0; i < count && !draft->kernel; i++)
        if (!kernel || strcmp(scan->kernels[i].name, kernel) == 0 || strcmp(scan->kernels[i].plain, kernel) == 0)
            draft->kernel = &scan->kernels[i];
    if (draft->kernel)
        return KILN_OK;
    for (size_t i = 0; i < count; i++)
        kiln__text_printf(&list, "%s%s (%s%sline %u)", i ? ", " : "", scan->kernels[i].name,
                          scan->kernels[i].header ? scan->kernels[i].header : "", scan->kernels[i].header ? " " : "",
                          scan->kernels[i].line);
    kiln_status status = count ? kiln__fail(draft->mem, error, KILN_ERROR_NOT_FOUND, "%s has no kernel '%s'; it has %s",
                                            draft->shown, kernel, kiln__text_get(&list))
                               : kiln__fail(draft->mem, error, KILN_ERROR_NOT_FOUND, "%s has no __global__ function",
                                            draft->shown);
    kiln__text_free(&list);
    return status;
}

/* Makes the name of the spec from the kernel's name: replaces each character except letters, digits, '_' and '-' by
 * '_'. */
static char *make_spec_name(const kiln__draft *draft)
{
    char *name = kiln__arena_strndup(draft->arena, draft->kernel->plain,
                                     strlen(draft->kernel->plain) < 63 ? strlen(draft->kernel->plain) : 63);
    for (char *at = name; at && *at; at++)
        if (!kiln__is_letter(*at) && !kiln__is_digit(*at))
            *at = '_';
    return name;
}

/* ---- the trial run: which memory the kernel accesses ---- */

static const uint64_t type_bytes[] = {
#define KILN_X(name, bytes, ...) bytes,
    KILN_TYPE_MAP(KILN_X)
#undef KILN_X
};

static int note_access(void *user, const kiln_traced_access *access)
{
    kiln__draft *draft = user;
    for (size_t i = 0; access->buffer && i < draft->argument_count; i++) {
        kiln__draft_argument *argument = &draft->arguments[i];
        if (argument->role != KILN__ROLE_BUFFER || strcmp(argument->name, access->buffer) != 0)
            continue;
        uint64_t bytes = (size_t)access->type < KILN__COUNT(type_bytes) ? type_bytes[access->type] : 1;
        uint64_t end = (access->address + access->bytes + bytes - 1) / bytes;
        argument->extent = end > argument->extent ? end : argument->extent;
        argument->seen = true;
        argument->read |= access->reads != 0;
        argument->written |= access->writes != 0;
        argument->atomic |= access->reads && access->writes;
    }
    return 0;
}

static kiln_status parse(kiln_engine *engine, const kiln__draft *draft, kiln_spec **spec, kiln_error **error)
{
    kiln__text text = {.mem = engine->mem}, name = {.mem = engine->mem};
    kiln__draft_write(draft, &text);
    kiln__text_printf(&name, "%s/%s.yaml", draft->folder, draft->name);
    kiln_status status = text.failed || name.failed
                             ? kiln__fail_memory(error)
                             : kiln_spec_parse(engine, text.data, text.length, name.data, spec, error);
    kiln__text_free(&text);
    kiln__text_free(&name);
    return status;
}

/* Traces the accesses of the first and the last block. In most kernels these two blocks together access both ends of
 * every array. If the kernel may read indices, traces more blocks between them, as long as *left has enough steps for
 * another run. If `may_shrink` is true and the first trace is slow, ends after it, because the caller then tries
 * smaller sizes. */
static kiln_status trace(kiln_engine *engine, kiln__draft *draft, const kiln_spec *spec, const uint64_t *left,
                         bool may_shrink, kiln_error **error)
{
    enum { MOST_TRACED = 64 };
    kiln_choice choice = {.size_set = "tiny"};
    kiln_run_options options = {
        .size = sizeof options, .flags = KILN_RUN_NO_VERIFY | KILN_RUN_NO_MEASURE, .sample_timeout = TRIAL_SECONDS};
    uint64_t blocks = 1;
    for (int axis = 0; axis < 3; axis++)
        blocks *= draft->axes[axis].used ? (uint64_t)draft->axes[axis].blocks : 1;
    const uint64_t first = *left;
    KILN__TRY(kiln_trace(engine, spec, &choice, &options, 0, note_access, draft, error));
    const uint64_t cost = first - *left; /* the number of steps that each trace costs, because it runs the whole grid */
    if (may_shrink && cost > SLOW_STEPS)
        return KILN_OK;
    for (size_t i = 0; i < draft->argument_count; i++)
        draft->arguments[i].begin = draft->arguments[i].extent;
    if (blocks > 1)
        KILN__TRY(kiln_trace(engine, spec, &choice, &options, blocks - 1, note_access, draft, error));
    const uint64_t step = (blocks + MOST_TRACED - 1) / MOST_TRACED;
    for (uint64_t block = step; block + 1 < blocks && kiln__reads_indices(draft) && *left > 2 * cost; block += step)
        KILN__TRY(kiln_trace(engine, spec, &choice, &options, block, note_access, draft, error));
    return KILN_OK;
}

/* Returns true if an element has the bytes with which Kiln fills outputs before a run (poison). */
static bool has_poison(const char *data, size_t bytes, kiln_type type)
{
    size_t width = 1;
    const uint32_t pattern = kiln__poison_pattern(type, &width);
    size_t same = 0; /* the number of bytes so far that have the pattern without a gap */
    for (size_t at = 0; at + width <= bytes; at += width) {
        same = memcmp(data + at, &pattern, width) == 0 ? same + width : 0;
        if (same >= type_bytes[type] && (at + width) % type_bytes[type] == 0)
            return true;
    }
    return false;
}

/* Finds the type of an array's elements. `name` is a type of a spec, or a tuning parameter whose default is a type.
 * Returns false if there is no such type. */
static bool find_type(const kiln__draft *draft, const char *name, kiln_type *type)
{
    int lanes = 0;
    for (size_t i = 0; name && i < draft->tunable_count; i++)
        if (strcmp(draft->tunables[i].name, name) == 0)
            return kiln__element_named(draft->tunables[i].chosen, strlen(draft->tunables[i].chosen), &name, &lanes) &&
                   kiln__type_named(name, type);
    return name && kiln__type_named(name, type);
}

/* Reads the outputs of a run, and marks two kinds of outputs. An output whose elements are all equal proves little in a
 * comparison, and the inputs are probably not what the kernel needs. An output that was not written completely must
 * begin with zeros. Returns true if an output of the second kind was marked for the first time. */
static bool look_at_outputs(kiln_plan *plan, kiln__draft *draft)
{
    enum { MOST_BYTES = 64 << 20 };
    bool marked = false;
    for (size_t i = 0; i < draft->argument_count; i++) {
        kiln__draft_argument *argument = &draft->arguments[i];
        uint64_t bytes = 0;
        kiln_type type;
        argument->same = false;
        if (argument->role != KILN__ROLE_BUFFER || !argument->written || argument->odd ||
            kiln_plan_buffer_bytes(plan, argument->name, &bytes, NULL) != KILN_OK || bytes < 16 || bytes > MOST_BYTES)
            continue;
        const bool begins_empty = !argument->read && !argument->atomic && !argument->unwritten && !argument->partly;
        char *data = kiln__alloc(draft->mem, (size_t)bytes);
        if (data && kiln_plan_read(plan, argument->name, data, (size_t)bytes, NULL) == KILN_OK) {
            /* All elements are equal if the data equals itself moved by eight bytes, and repeats within the first eight
             * bytes. */
            argument->same = memcmp(data, data + 8, (size_t)bytes - 8) == 0 && memcmp(data, data + 4, 4) == 0 &&
                             (memcmp(data, data + 2, 2) == 0 || !argument->type || !strstr(argument->type, "16"));
            argument->partly |= begins_empty && find_type(draft, argument->type, &type) &&
                                has_poison(data, (size_t)bytes, type);
            marked |= begins_empty && argument->partly;
        }
        kiln__free(draft->mem, data);
    }
    return marked;
}

static kiln_status run(kiln_engine *engine, kiln__draft *draft, const kiln_spec *spec, bool *marked, kiln_error **error)
{
    kiln_plan *plan = NULL;
    kiln_choice choice = {.size_set = "tiny"};
    const kiln_result *result = NULL;
    kiln_run_options options = {.size = sizeof options, .flags = KILN_RUN_NO_MEASURE, .sample_timeout = TRIAL_SECONDS};
    kiln_status status = kiln_plan_open(engine, spec, &choice, &plan, error);
    if (status == KILN_OK)
        status = kiln_plan_run(plan, &options, &result, error);
    *marked = status == KILN_OK && look_at_outputs(plan, draft);
    kiln_plan_close(plan);
    return status;
}

/* Returns the buffer argument whose name is in the message between the texts `before` and `behind`. */
static kiln__draft_argument *find_named_argument(kiln__draft *draft, const char *message, const char *before,
                                                 const char *behind)
{
    for (size_t i = 0; i < draft->argument_count; i++) {
        const char *text = kiln__arena_printf(draft->arena, "%s%s%s", before, draft->arguments[i].name, behind);
        if (text && draft->arguments[i].role == KILN__ROLE_BUFFER && strstr(message, text))
            return &draft->arguments[i];
    }
    return NULL;
}

/* Corrects a guess if the message of a failed run shows that it was wrong. There are four such guesses: the size of the
 * shared memory, the number of elements of all arrays or of one, and that the kernel writes an array. Returns true if a
 * guess was corrected, so that another run is useful. Returns false if the message shows no such guess, or if the guess
 * cannot be corrected any further. */
static bool repair(kiln__draft *draft, const char *message)
{
    kiln__draft_argument *argument = find_named_argument(draft, message, " past the end of '", "'");
    if (strstr(message, " at shared address ") && draft->shared_each < MOST_SHARED_EACH) {
        draft->shared_each = 2 * (draft->shared_each ? draft->shared_each : KILN__SHARED_EACH);
        return true;
    }
    if (argument && !draft->tried && draft->widened < MOST_WIDENED) { /* no run has shown the extent of an array yet */
        draft->widened++;
        return true;
    }
    if (argument && argument->seen && !argument->beyond)
        return argument->beyond = true;
    argument = find_named_argument(draft, message, " ", ": never written");
    if (argument && !argument->unwritten)
        return argument->unwritten = true;
    return false;
}

/* The sizes before they became smaller, and the grid and block that depend on them. */
typedef struct sizes_before {
    kiln__size sizes[KILN__MOST_SIZES];
    kiln__axis axes[3];
    bool taken, final; /* `final`: the sizes do not become smaller any more */
} sizes_before;

/* Decides after a first run whether the next run gets other sizes. If the run was slow, or reached its step limit, the
 * sizes become smaller. If the kernel fails with smaller sizes, for example because it needs whole tiles, the old sizes
 * come back. Returns true if another run is needed. */
static bool choose_smaller_sizes(kiln__draft *draft, sizes_before *before, kiln_status status, bool slow)
{
    if (status != KILN_OK && !slow && before->taken) {
        memcpy(draft->sizes, before->sizes, sizeof draft->sizes);
        memcpy(draft->axes, before->axes, sizeof draft->axes);
        before->taken = false;
        return before->final = true;
    }
    if (!slow || before->final)
        return false;
    if (!before->taken) {
        memcpy(before->sizes, draft->sizes, sizeof draft->sizes);
        memcpy(before->axes, draft->axes, sizeof draft->axes);
        before->taken = true;
    }
    before->final = !kiln__shrink_sizes(draft);
    return true; /* if no size can become smaller, the next run may take more steps */
}

/* Runs the drafted spec, takes the shapes of arrays from its accesses, and runs the new spec again. If a run shows that
 * a guess was too small, the function makes the guess larger for the next run. If the first run is slow, the next run
 * has smaller sizes. A failure becomes a comment in the spec, because the author of the spec knows more than this
 * program. */
static kiln_status try_it(kiln_engine *engine, kiln__draft *draft, kiln_error **error)
{
    bool traced = false;
    sizes_before before = {.taken = false};
    for (int round = 0, last = 1; round <= last; round++) {
        kiln_spec *spec = NULL;
        kiln_error *why = NULL;
        kiln_status status = parse(engine, draft, &spec, &why);
        bool written = status == KILN_OK, repaired = false;
        const uint64_t most = !traced && !before.final ? FIRST_STEPS : TRIAL_STEPS;
        uint64_t left = most;
        engine->driver.simulator->steps(&left);
        if (written)
            status = !traced ? trace(engine, draft, spec, &left, !before.final && last < MOST_ROUNDS, &why)
                             : run(engine, draft, spec, &repaired, &why);
        engine->driver.simulator->steps(NULL);
        kiln_spec_free(spec);
        if (status != KILN_OK && written && last < MOST_ROUNDS)
            repaired = repair(draft, kiln_error_message(why));
        if (!traced && written && !repaired && last < MOST_ROUNDS)
            repaired = choose_smaller_sizes(draft, &before, status, most - left > SLOW_STEPS);
        bool over = status != KILN_OK && !kiln__can_go_on(engine, why);
        if (status != KILN_OK && (!repaired || over))
            draft->trouble = kiln__first_line(draft, kiln_error_message(why));
        last = over ? round : last + repaired; /* no further run is possible if the driver's context is lost */
        draft->tried = draft->tried || (!traced && status == KILN_OK && !repaired);
        /* the written text is a valid spec, unless the source has a name that this program does not expect */
        if (!written)
            kiln__fail(engine->mem, error, status, "kiln init cannot write a spec for kernel %s of %s:\n%s",
                       draft->kernel->name, draft->shown, kiln_error_message(why));
        kiln_error_free(why);
        if (!written || status == KILN_ERROR_MEMORY || status == KILN_ERROR_INTERRUPTED)
            return status;
        if (!traced && (status != KILN_OK || repaired))
            for (size_t i = 0; i < draft->argument_count; i++) {
                kiln__draft_argument *argument = &draft->arguments[i];
                argument->seen = argument->read = argument->written = argument->atomic = false;
                argument->extent = argument->begin = 0;
            }
        traced = traced || !repaired;
        kiln__guess_shapes(draft);
        kiln__fix_extents(draft);
    }
    return KILN_OK;
}

/* The spec of several trials, and the answer of its defaults. Without them every trial would run the defaults again. */
typedef struct trials {
    kiln_spec *spec; /* NULL before the first trial, and after a change of the draft */
    kiln__shared *shared;
} trials;

/* Call this if the draft changes, except in the values of params, and before a new context. */
static void forget_trials(trials *kept)
{
    kiln__shared_free(kept->shared);
    kiln_spec_free(kept->spec);
    *kept = (trials){0};
}

/* Returns true if another run is possible after a failure. A failure that destroyed the context also destroyed the
 * memory that the trials share. */
static bool can_go_on(kiln_engine *engine, trials *kept, const kiln_error *why)
{
    if (kiln__driver_is_sticky((CUresult)kiln_error_cuda(why)))
        forget_trials(kept);
    return kiln__can_go_on(engine, why);
}

/* Runs the drafted spec with one value of a tuning parameter, as kiln__run_value() does. Subtracts the steps of the run
 * from draft->steps. */
static kiln_status try_value(kiln_engine *engine, kiln__draft *draft, trials *kept, const char *name, const char *value,
                             bool proves, const char **finding, kiln_error **error)
{
    const uint64_t most = draft->steps < TRIAL_STEPS ? draft->steps : TRIAL_STEPS;
    uint64_t left = most;
    kiln_status status = kept->spec ? KILN_OK : parse(engine, draft, &kept->spec, error);
    if (status == KILN_OK && !kept->shared)
        status = kiln__shared_open(engine, kept->spec, &kept->shared, error);
    engine->driver.simulator->steps(&left);
    if (status == KILN_OK)
        status = kiln__run_value(engine, kept->spec, kept->shared, name, value, proves, TRIAL_SECONDS, finding, error);
    engine->driver.simulator->steps(NULL);
    draft->steps -= most - left;
    /* a trial run that ends by the step limit says nothing about the value */
    if (status != KILN_OK && left == 0)
        status = KILN_ERROR_TIMEOUT;
    return status;
}

/* Tries one value of a tuning parameter. If the failure shows that a guess was too small, makes the guess larger, and
 * tries first the value and then the default again. If one of these two runs fails, the old guess stays, because the
 * spec has run with the old guess and the defaults. If the value fails, removes it from the list of values. */
static kiln_status repair_or_leave_out(kiln_engine *engine, kiln__draft *draft, trials *kept, kiln__tunable *tunable,
                                       const char *value, bool proves, kiln_error **why)
{
    kiln__draft *before = NULL;
    kiln_status status = try_value(engine, draft, kept, tunable->name, value, proves, NULL, why);
    while (kiln__is_due_to_value(status) && can_go_on(engine, kept, *why)) {
        if (!before && (before = kiln__arena_alloc(draft->arena, sizeof *before)) != NULL)
            *before = *draft;
        if (!before || !repair(draft, kiln_error_message(*why)))
            break;
        kiln__guess_shapes(draft);
        forget_trials(kept);
        kiln_error_free(*why);
        *why = NULL;
        status = try_value(engine, draft, kept, tunable->name, value, proves, NULL, why);
        if (status == KILN_OK)
            status = try_value(engine, draft, kept, tunable->name, tunable->chosen, false, NULL, why);
    }
    if (status != KILN_OK && before) {
        before->steps = draft->steps;
        *draft = *before;
        forget_trials(kept);
    }
    if (kiln__is_due_to_value(status))
        kiln__leave_out(draft, tunable, value, kiln_error_message(*why));
    return status;
}

/* Returns false if all elements of an output are equal, because a comparison of such outputs proves nothing. */
static bool gives_evidence(const kiln__draft *draft)
{
    bool proves = true;
    for (size_t i = 0; i < draft->argument_count; i++)
        proves &= !draft->arguments[i].same;
    return proves;
}

/* Runs the drafted spec once for each other value of each tuning parameter. Removes a value if the kernel does not
 * compile with it, faults, or gives another answer than with the defaults. Does nothing unless the spec has already run
 * with the defaults. Tuning parameters that the source itself defines (`own`) come last. They keep only the values with
 * which a trial run gives the answer of the default. */
static kiln_status try_values(kiln_engine *engine, kiln__draft *draft, trials *kept, kiln_error **error)
{
    size_t tried = 0;
    draft->steps = VALUES_STEPS;
    const bool proves = gives_evidence(draft), compares = proves && kiln__draft_compares(draft);
    for (size_t k = 0; k < 2 * draft->tunable_count && draft->tried && !draft->trouble; k++) {
        kiln__tunable *tunable = &draft->tunables[k % draft->tunable_count];
        const bool now = tunable->own == (k >= draft->tunable_count) && !(tunable->own && !compares);
        const char *at = tunable->size || !now ? "" : tunable->values, *value = NULL;
        while ((value = kiln__next_value(draft, &at)) != NULL) {
            kiln_error *why = NULL;
            if (strcmp(value, tunable->chosen) == 0)
                continue;
            if (tried >= MOST_VALUES || draft->steps == 0) {
                draft->untried = draft->untried || !tunable->own;
                break;
            }
            const kiln_status status = repair_or_leave_out(engine, draft, kept, tunable, value, proves, &why);
            const bool over = status != KILN_OK && !can_go_on(engine, kept, why);
            tried += status != KILN_ERROR_CONSTRAINT;
            draft->untried = draft->untried || (status == KILN_ERROR_TIMEOUT && !tunable->own);
            if (status == KILN_OK)
                kiln__note_proved(draft, tunable, value);
            kiln_error_free(why);
            if (status == KILN_ERROR_INTERRUPTED)
                return kiln__fail(engine->mem, error, status, "kiln init was interrupted");
            if (over)
                return KILN_OK;
        }
    }
    return KILN_OK;
}

/* For each size, runs the drafted spec with one more than the value in the set `tiny`. If the run fails, or leaves a
 * part of an output unwritten, the kernel needs whole tiles. The key `judge` of the spec then gets this condition. */
static kiln_status try_sizes(kiln_engine *engine, kiln__draft *draft, kiln_error **error)
{
    kiln_spec *spec = NULL;
    kiln__draft *copy = kiln__arena_alloc(draft->arena, sizeof *copy);
    bool over = !copy || !draft->tried || draft->trouble;
    kiln_status status = over ? KILN_OK : parse(engine, draft, &spec, error);
    for (size_t i = 0; i < draft->size_count && status == KILN_OK && !over; i++) {
        kiln__size *size = &draft->sizes[i];
        kiln_plan *plan = NULL;
        kiln_error *why = NULL;
        if (!kiln__size_varies(size))
            continue;
        uint64_t left = TRIAL_STEPS;
        engine->driver.simulator->steps(&left);
        status = kiln__run_size(engine, spec, size, TRIAL_SECONDS, &plan, &size->why, &why);
        engine->driver.simulator->steps(NULL);
        *copy = *draft; /* marks a copy, because the outputs of this run must not change the draft itself */
        if (status == KILN_OK && !size->why && look_at_outputs(plan, copy))
            size->why = unwritten_part;
        if (status != KILN_OK && !size->why)
            size->why = kiln__first_line(draft, kiln_error_message(why));
        kiln_plan_close(plan);
        if (status != KILN_OK && left == 0)
            size->why = too_many_steps;
        size->any = !size->why;
        over = status != KILN_OK && !kiln__can_go_on(engine, why);
        kiln_error_free(why);
        if (status == KILN_ERROR_INTERRUPTED)
            status = kiln__fail(engine->mem, error, status, "kiln init was interrupted");
        else if (status == KILN_ERROR_MEMORY)
            status = kiln__fail_memory(error);
        else
            status = KILN_OK; /* a failed run is a result too, and not an error of this function */
    }
    kiln_spec_free(spec);
    return status;
}

/* Runs the drafted spec under all checks with one value of a tuning parameter, or with the defaults if `name` is NULL.
 * If the run fails, or if the checks find something, *why gets the reason. */
static kiln_status try_odd(kiln_engine *engine, kiln__draft *draft, trials *kept, const char *name, const char *value,
                           const char **why)
{
    kiln_error *error = NULL;
    const char *finding = NULL;
    const kiln_status status = try_value(engine, draft, kept, name, value, name && gives_evidence(draft), &finding,
                                         &error);
    if (finding)
        *why = finding;
    else if (status != KILN_OK && status != KILN_ERROR_CONSTRAINT)
        *why = status == KILN_ERROR_TIMEOUT ? too_many_steps : kiln__first_line(draft, kiln_error_message(error));
    if (*why && name)
        *why = kiln__arena_printf(draft->arena, "%s = %s: %s", name, value, *why);
    const bool over = status != KILN_OK && !can_go_on(engine, kept, error);
    kiln_error_free(error);
    return status == KILN_ERROR_INTERRUPTED || status == KILN_ERROR_MEMORY || over ? status : KILN_OK;
}

/* Gives the set `tiny` odd sizes if try_sizes() has shown that the kernel handles them. With even sizes every block is
 * full, and kiln check cannot find an access that only a partly full block makes.
 *
 * The defaults and each other value of each tuning parameter run under all checks with the odd sizes. If a run fails,
 * all sizes stay multiples of tiles, because a value may need whole tiles. draft->even then gets the reason. A size
 * that is a macro also stays a multiple, because another value would need further compiles. */
static kiln_status take_odd_sizes(kiln_engine *engine, kiln__draft *draft, trials *kept, kiln_error **error)
{
    size_t odd = 0, tried = 0;
    const char *why = NULL;
    for (size_t i = 0; i < draft->size_count; i++) {
        kiln__size *size = &draft->sizes[i];
        size->odd = size->any && !size->bake && size->tiny % 2 == 0 && kiln__size_varies(size);
        size->tiny += size->odd;
        odd += size->odd;
    }
    kiln_status status = odd ? try_odd(engine, draft, kept, NULL, NULL, &why) : KILN_OK;
    for (size_t i = 0; i < draft->tunable_count && odd && !why && status == KILN_OK; i++) {
        kiln__tunable *tunable = &draft->tunables[i];
        const char *at = tunable->size ? "" : tunable->values, *value = NULL;
        while (!why && status == KILN_OK && (value = kiln__next_value(draft, &at)) != NULL) {
            if (strcmp(value, tunable->chosen) != 0 && tried++ < MOST_VALUES)
                status = try_odd(engine, draft, kept, tunable->name, value, &why);
            if (why && tunable->own && status == KILN_OK) { /* the value is only a guess: the odd sizes stay */
                kiln__leave_out(draft, tunable, value, why);
                why = NULL;
            }
        }
    }
    for (size_t i = 0; i < draft->size_count && why; i++) {
        draft->sizes[i].tiny -= draft->sizes[i].odd;
        draft->sizes[i].odd = false;
    }
    draft->even = why;
    return status == KILN_ERROR_INTERRUPTED ? kiln__fail(engine->mem, error, status, "kiln init was interrupted")
           : status == KILN_ERROR_MEMORY    ? kiln__fail_memory(error)
                                         /* a failed run is a result too, and not an error of this function */
                                         : KILN_OK;
}

/* Warns about the first size with which a trial run failed, because this may be an error of the kernel. */
static void warn_of_tiles(const kiln_engine *engine, const kiln__draft *draft)
{
    for (size_t i = 0; i < draft->size_count; i++) {
        const kiln__size *size = &draft->sizes[i];
        if (!size->why || size->why == too_many_steps)
            continue;
        const char *command = size->why == unwritten_part
                                  ? ""
                                  : kiln__arena_printf(draft->arena, ": kiln check SPEC -s %s=%lld", size->name,
                                                       (long long)size->tiny + 1);
        kiln__logf(
            &engine->log, KILN_LOG_WARNING,
            "a trial run with %s = %lld failed: %s. If the kernel must handle such a size, the kernel has an error%s",
            size->name, (long long)size->tiny + 1, size->why, command ? command : "");
        return;
    }
}

/* Warns once about the values that try_values() removed. try_values() takes the answer with the defaults as right, even
 * if the kernel is faulty. Therefore the reason may be an error of the kernel, and not the value. */
static void warn_of_left_out(const kiln_engine *engine, const kiln__draft *draft)
{
    const kiln__tunable *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < draft->tunable_count; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        if (tunable->own) /* the draft guessed these values, so a failure says nothing about the kernel */
            continue;
        for (const char *at = tunable->left_out; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
            count++;
        first = first || !tunable->left_out ? first : tunable;
    }
    if (first)
        kiln__logf(
            &engine->log, KILN_LOG_WARNING,
            "the draft leaves out %zu value%s with which a trial run failed, such as %s = %.*s. If the kernel is to "
            "blame, kiln check finds the error",
            count, count == 1 ? "" : "s", first->name, (int)strcspn(first->left_out, "\n"), first->left_out);
}

/* Warns about structures that the spec passes as zero bytes. A kernel that gets its sizes from such a structure does
 * nothing, and its trial run proves nothing. */
static void warn_of_bytes(const kiln_engine *engine, const kiln__draft *draft)
{
    kiln__text names = {.mem = draft->mem};
    size_t count = 0;
    for (size_t i = 0; i < draft->argument_count; i++)
        if (draft->arguments[i].role == KILN__ROLE_BYTES)
            kiln__text_printf(&names, "%s%s", count++ ? ", " : "", draft->arguments[i].name);
    if (count > 0)
        kiln__logf(
            &engine->log, KILN_LOG_WARNING,
            "kiln cannot read the type of %s, so the draft gives zero bytes for it. With zeros the kernel may do "
            "nothing, and then a run proves nothing. Write its fields into the spec: {struct: {n: [i32, N], data: x}}",
            kiln__text_get(&names));
    kiln__text_free(&names);
}

/* ---- the public function ---- */

/* Sets the folder of the spec, and the path of the source in the spec. If the caller gives only `source`, this is a
 * path relative to the spec's folder, and the function computes this folder from it. So the draft may read the same
 * files as the spec. If `source` is NULL, the spec's folder is the folder of the source. */
static bool set_places(kiln__draft *draft, const char *folder, const char *source)
{
    size_t length = strlen(draft->path), behind = source ? strlen(source) : 0;
    if (folder && source) {
        draft->folder = folder;
        draft->source = source;
    } else if (behind > 0 && behind + 1 < length && draft->path[length - behind - 1] == '/' &&
               strcmp(draft->path + length - behind, source) == 0) {
        draft->folder = kiln__arena_strndup(draft->arena, draft->path, length - behind - 1);
        draft->source = source;
    } else {
        const char *slash = strrchr(draft->path, '/');
        draft->folder = kiln__arena_folder(draft->arena, draft->path);
        draft->source = slash ? slash + 1 : draft->path;
    }
    return draft->folder != NULL;
}

/* Returns true if the text declares a grid group or a cluster group with this name. The functions of such a group do
 * not return the indices of a block's threads. */
static bool is_larger_group(const char *text, const char *name, size_t length)
{
    static const char *const makers[] = {"this_grid", "this_cluster"};
    for (const char *at = text; (at = strstr(at, "_group")) != NULL; at++) { /* grid_group all = ... */
        const char *behind = at + 6 + strspn(at + 6, " &");
        const bool larger = (at - text >= 4 && strncmp(at - 4, "grid", 4) == 0) ||
                            (at - text >= 7 && strncmp(at - 7, "cluster", 7) == 0);
        if (larger && strncmp(behind, name, length) == 0 && !kiln__is_letter(behind[length]))
            return true;
    }
    for (size_t i = 0; i < KILN__COUNT(makers); i++) /* auto all = cg::this_grid(); */
        for (const char *at = text; (at = strstr(at, makers[i])) != NULL; at++) {
            const char *end = at;
            while (end > text && (end[-1] == ':' || kiln__is_letter(end[-1]) || end[-1] == ' '))
                end--;
            if (end == text || end[-1] != '=')
                continue;
            end--;
            while (end > text && end[-1] == ' ')
                end--;
            if ((size_t)(end - text) >= length && strncmp(end - length, name, length) == 0)
                return true;
        }
    return false;
}

/* Replaces the functions of cooperative groups by CUDA's built-in variables, for example block.group_index() by
 * blockIdx, because the guesses know only these variables. The replacement has the same length, padded with blanks. */
static void replace_groups(char *text)
{
    static const char *const names[][2] = {{".group_index()", "blockIdx"},
                                           {".thread_index()", "threadIdx"},
                                           {".group_dim()", "blockDim"},
                                           {".dim_threads()", "blockDim"}};
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        for (char *at = text; (at = strstr(at, names[i][0])) != NULL; at++) {
            char *begin = at, *end = at + strlen(names[i][0]);
            while (begin > text && (kiln__is_letter(begin[-1]) || kiln__is_digit(begin[-1]) || begin[-1] == '_'))
                begin--;
            if (begin == at || kiln__is_digit(*begin) || is_larger_group(text, begin, (size_t)(at - begin)))
                continue;
            memset(begin, ' ', (size_t)(end - begin));
            memcpy(begin, names[i][1], strlen(names[i][1]));
        }
}

/* Sets the header and the line of each kernel that a header defines. The header with the index i in the list begins at
 * byte begins[i] of the text. */
static void place_kernels(kiln__scan *scan, const char *text, const kiln__includes *includes, const size_t *begins,
                          size_t count)
{
    for (size_t k = scan->own_kernel_count; k < scan->kernel_count && begins; k++) {
        kiln__kernel *kernel = &scan->kernels[k];
        const size_t at = (size_t)(scan->words[kernel->params_from].text - text);
        size_t file = 0;
        while (file + 1 < count && begins[file + 1] <= at)
            file++;
        if (file >= count)
            continue;
        kernel->header = includes->items[file].name;
        for (size_t i = 0; i < begins[file]; i++)
            kernel->line -= text[i] == '\n';
    }
}

/* Splits three texts into tokens: the source, the project's headers that it includes, and the file with the launch.
 * Headers define constants that the launch and the kernel use. */
static kiln_status scan(kiln_engine *engine, kiln__draft *draft, const char *text, size_t length, const char *launch,
                        kiln_error **error)
{
    enum { MOST_HEADERS_BYTES = 2 << 20 };
    kiln__include_paths where;
    kiln__includes includes = {0};
    kiln__text whole = {.mem = engine->mem};
    char *other = NULL;
    size_t other_length = 0;
    kiln__scan *scan = kiln__arena_alloc(draft->arena, sizeof *scan);
    KILN__TRY(scan ? KILN_OK : kiln__fail_memory(error));
    if (launch)
        KILN__TRY(kiln__file_read(engine->mem, launch, MOST_SOURCE, &other, &other_length, error));
    kiln_status status = kiln__draft_include_paths(engine, draft, &where, error);
    if (status == KILN_OK) /* ignores an error here: if a header may not be read, the compile fails later */
        kiln__includes_collect(engine->mem, draft->arena, draft->path, text, &where, &includes, NULL);
    kiln__text_add(&whole, text, length);
    size_t *begins = kiln__arena_alloc(draft->arena, (includes.count + 1) * sizeof *begins), begun = 0;
    for (; begins && begun < includes.count && whole.length < MOST_HEADERS_BYTES; begun++) {
        begins[begun] = whole.length + 1;
        if (includes.items[begun].path)
            kiln__text_printf(&whole, "\n%s", includes.items[begun].text);
    }
    const size_t before = whole.length + 1;
    if (other)
        kiln__text_printf(&whole, "\n%s", other);
    char *kept = whole.failed ? NULL : kiln__arena_strndup(draft->arena, whole.data, whole.length);
    if (kept)
        replace_groups(kept);
    if (status == KILN_OK)
        status = kept ? kiln__scan_source(draft->arena, kept, whole.length, length, scan, error)
                      : kiln__fail_memory(error);
    for (size_t i = 1; i < scan->count && kept && other && !scan->launch; i++)
        scan->launch = scan->words[i].text >= kept + before ? i : 0;
    for (size_t i = 0; i < before && kept && scan->launch; i++)
        scan->launch_lines += kept[i] == '\n';
    if (status == KILN_OK)
        place_kernels(scan, kept, &includes, begins, begun);
    kiln__text_free(&whole);
    kiln__free(engine->mem, other);
    draft->texts = includes;
    draft->scan = scan;
    return status;
}

/* Makes the draft for the chosen kernel: types, sizes, launch, shapes, and the trial runs. */
static kiln_status finish(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error)
{
    KILN__TRY(kiln__host_choose(draft, draft->options->launch_line, error));
    kiln__guess_templates(draft);
    KILN__TRY(kiln__probe(engine, draft, text, error));
    kiln__guess_sizes(draft);
    if (!kiln__host_apply(draft)) {
        if (draft->host.found)
            draft->unread = kiln__arena_printf(
                draft->arena, "kiln cannot read the launch in the host code: one of its expressions has a form "
                              "that kiln does not know");
        draft->host.found = false;
        kiln__guess_launch(draft);
    }
    kiln__fit_block(draft);
    kiln__guess_shapes(draft);
    if (draft->arena->failed)
        return kiln__fail_memory(error);
    if (engine->driver.simulator) {
        KILN__TRY(try_it(engine, draft, error));
        trials kept = {0};
        kiln_status status = try_values(engine, draft, &kept, error);
        forget_trials(&kept);
        kiln__drop_unproved(draft);
        if (status == KILN_OK)
            status = try_sizes(engine, draft, error);
        if (status == KILN_OK)
            status = take_odd_sizes(engine, draft, &kept, error);
        forget_trials(&kept);
        KILN__TRY(status);
        kiln__drop_unused_sizes(draft);
        warn_of_tiles(engine, draft);
        warn_of_left_out(engine, draft);
    }
    if (!engine->driver.simulator)
        kiln__drop_unproved(draft);
    warn_of_bytes(engine, draft);
    return draft->arena->failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Splits the source and the file with the launch into tokens, chooses the kernel, and finds its launches. */
static kiln_status begin(kiln_engine *engine, kiln__draft *draft, const char *text, size_t length, kiln_error **error)
{
    const kiln_draft_options *options = draft->options;
    draft->tunable_count = 0;
    draft->kernel = NULL;
    KILN__TRY(scan(engine, draft, text, length, options->launch, error));
    KILN__TRY(choose(draft, options->kernel, error));
    draft->name = make_spec_name(draft);
    kiln__take_values(draft, options->values, options->value_count);
    kiln__guess_macros(draft);
    kiln__host_find(draft);
    return KILN_OK;
}

static kiln_status make(kiln_engine *engine, kiln__draft *draft, const char *text, size_t length,
                        const kiln_draft_options *options, kiln_error **error)
{
    kiln_draft_options near = *options;
    draft->options = options;
    KILN__TRY(begin(engine, draft, text, length, error));
    if (draft->launch_count == 0 && !options->launch && (near.launch = kiln__nearby_launch(draft)) != NULL) {
        draft->nearby = near.launch;
        draft->options = &near;
        kiln_status status = begin(engine, draft, text, length, error);
        if (status == KILN_OK)
            status = finish(engine, draft, text, error);
        draft->options = options;
        return status;
    }
    return finish(engine, draft, text, error);
}

/* Public; see kiln.h. Reads the source and chooses the kernel. Compiles the kernel, to learn what its tokens do not
 * show. If the device is simulated, makes trial runs of the new spec. Passes the text of the spec to `show`. */
kiln_status kiln_draft(kiln_engine *engine, const char *path, const kiln_draft_options *options, kiln_draft_fn show,
                       void *user, kiln_error **error)
{
    kiln_draft_options taken;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS_TEXT(engine->mem, error, path);
    KILN__TAKE(engine->mem, error, "options", options, &taken);
    KILN__TRY(kiln__check_settings(engine->mem, error, __func__, "options.values", "options.value_count", taken.values,
                                   taken.value_count));
    KILN__TRY(kiln__check_settings(engine->mem, error, __func__, "options.defines", "options.define_count",
                                   taken.defines, taken.define_count));
    KILN__TRY(kiln__check_names(engine->mem, error, __func__, "options.includes", "options.include_count",
                                taken.includes, taken.include_count));
    KILN__TRY(kiln__check_names(engine->mem, error, __func__, "options.options", "options.option_count", taken.options,
                                taken.option_count));
    KILN__NEEDS(engine->mem, error, show);
    KILN__TRY(kiln__engine_device(engine, error));
    KILN__TRY(kiln__engine_nvrtc(engine, error));
    KILN__TRY(kiln__engine_compiler(engine, error));
    char *text = NULL;
    size_t length = 0;
    kiln__text out = {.mem = engine->mem};
    kiln__arena arena = {.mem = engine->mem};
    KILN__TRY(kiln__file_read(engine->mem, path, MOST_SOURCE, &text, &length, error));
    kiln__draft *draft = kiln__arena_alloc(&arena, sizeof *draft);
    kiln_status status = KILN_OK;
    char *whole = realpath(path, NULL), *kept = kiln__arena_strdup(&arena, whole ? whole : path);
    free(whole);
    if (!draft || !kept) {
        status = kiln__fail_memory(error);
    } else if (memchr(text, '\0', length)) {
        status = kiln__fail(engine->mem, error, KILN_ERROR_IO, "%s: not a text file: it contains a zero byte", path);
    } else {
        *draft = (kiln__draft){.mem = engine->mem, .arena = &arena, .path = kept, .shown = path};
        status = set_places(draft, taken.folder, taken.source) ? make(engine, draft, text, length, &taken, error)
                                                               : kiln__fail_memory(error);
    }
    if (status == KILN_OK) {
        draft->source = taken.source ? taken.source : draft->source;
        kiln__draft_write(draft, &out);
        status = out.failed ? kiln__fail_memory(error) : KILN_OK;
    }
    if (status == KILN_OK)
        show(user, out.data, out.length);
    kiln__text_free(&out);
    kiln__arena_free(&arena);
    kiln__free(engine->mem, text);
    return status;
}
