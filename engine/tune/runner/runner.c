/* runner.c - the process that measures for a sweep. It has one device and one spec, and measures one sample after
 * another. If the process faults, hangs or ends, the process of the sweep notices and records this. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "config.h"
#include "plan.h"
#include "protocol_internal.h"
#include "runner.h"
#include "trial_internal.h"
#include "wire.h"

typedef struct server {
    int fd;
    kiln__add_hosts add_hosts;
    kiln__arena arena; /* the memory of the settings and inputs in `setup` */
    char *body;        /* the body of the opening message, into which the texts of `setup` point */
    kiln__runner_setup setup;
    kiln_engine *engine;
    kiln_spec *spec;
    /* for each variant of the spec, the configuration with resolved sizes; NULL until it is needed */
    kiln__config **bases;
    kiln__shared *shared; /* the inputs and expected answers, which this process makes only once */
    /* the inputs and expected answers at the small sizes; NULL means that there are no small sizes */
    kiln__shared *small;
    bool closed;      /* the sweep has closed the connection */
    bool launched;    /* a kernel has run, or is about to run */
    kiln__text keeps; /* messages with references; the process sends them before the first launch */
    char cores[64];   /* the cores to which the process is bound, for a log; "" means that it is not bound */
    bool sandbox;
    /* the parts of the sandbox that are in force, as KILN__CONFINED_... bits; `how` names the mechanisms */
    unsigned confined;
    char how[256];
} server;

static void launching(void *user)
{
    server *s = user;
    kiln__text message = {0};
    if (s->keeps.length > 0 && !s->keeps.failed && !kiln__socket_send(s->fd, &s->keeps))
        s->closed = true;
    kiln__text_free(&s->keeps);
    s->keeps = (kiln__text){0};
    s->launched = true;
    kiln__runner_write_launching(&message);
    if (!kiln__socket_send(s->fd, &message))
        s->closed = true;
    kiln__text_free(&message);
}

static void waits(void *user, const char *why)
{
    server *s = user;
    kiln__text message = {0};
    kiln__runner_write_waiting(&message, why ? why : "");
    if (!kiln__socket_send(s->fd, &message))
        s->closed = true;
    kiln__text_free(&message);
}

/* Keeps a reference until just before the first launch, because the sweep reads no messages before it requests the
 * first sample. The sweep would not accept the reference after a launch. */
static void keep(void *user, const kiln__kept_reference *kept)
{
    server *s = user;
    kiln__text message = {0};
    if (s->launched)
        return;
    kiln__runner_write_keep(&message, kept);
    if (!message.failed && message.length < KILN__MESSAGE_MAX)
        kiln__text_add(&s->keeps, message.data, message.length);
    kiln__text_free(&message);
}

/* ---- opening ---- */

/* Binds this process to the cores near the device, so that its copies and launches use the cores and the memory beside
 * the device. Threads that the driver has already started stay on their earlier cores. */
static void go_near(server *s)
{
    const kiln_engine *engine = s->engine;
    const char *folder = getenv("KILN_PCI_DEVICES");
    char place[KILN__PCI_TEXT], path[PATH_MAX];
    bool far = false;
    unsigned cores = 0;
    if (engine->driver.simulator && !folder) /* a simulated GPU has no folder in /sys */
        return;
    if (kiln__driver_place(&engine->driver, engine->device, place) &&
        snprintf(path, sizeof path, "%s/%s/local_cpulist", folder ? folder : "/sys/bus/pci/devices", place) <
            (int)sizeof path)
        cores = kiln__host_go_near(path, &far);
    if (far)
        snprintf(s->cores, sizeof s->cores, "none of its cores is near the device");
    if (cores > 0)
        snprintf(s->cores, sizeof s->cores, "bound to %u of its cores, near the device", cores);
}

/* Gives up the rights of the process, before it runs a kernel of the spec or reads files that the spec names. */
static kiln_status enter_sandbox(server *s, kiln_error **error)
{
    const kiln__sandbox want = {.files = s->setup.run.inputs,
                                .file_count = s->setup.run.input_count,
                                .got = &s->confined,
                                .how = s->how,
                                .room = sizeof s->how};
    s->sandbox = kiln__sandbox_wanted(s->engine);
    return kiln__engine_sandbox(s->engine, s->spec, &want, error);
}

/* Opens the device and makes its context, so that the answer to the opening message tells whether both work. */
static kiln_status open_device(server *s, kiln_error **error)
{
    CUcontext previous;
    kiln_status status = kiln__engine_enter(s->engine, &previous, error);
    if (status == KILN_OK)
        kiln__engine_leave(s->engine, previous);
    return status;
}

/* Opens the engine, the device, the spec and the shared inputs that the opening message names. The process enters the
 * sandbox after all work that needs rights, and before any code of the spec runs. At the end, sets the callbacks of the
 * shared inputs, which send the KEEP, LAUNCHING and WAITING messages. */
static kiln_status open_all(server *s, kiln_error **error)
{
    const kiln__runner_setup *setup = &s->setup;
    if (strcmp(setup->version, KILN_VERSION) != 0)
        return kiln__fail(NULL, error, KILN_ERROR_UNSUPPORTED, "its version is %s, not %s", KILN_VERSION,
                          setup->version);
    kiln_options options = {.size = sizeof options,
                            .device = setup->device,
                            .search_path = setup->search_path,
                            .flags = setup->flags,
                            .memory_limit = setup->memory_limit};
    kiln_status status = kiln_engine_open(&options, &s->engine, error);
    if (status == KILN_OK)
        kiln__engine_use_references(s->engine, setup->references);
    if (status == KILN_OK && s->add_hosts)
        status = s->add_hosts(s->engine, error);
    if (status == KILN_OK)
        status = open_device(s, error);
    if (status == KILN_OK && setup->near)
        go_near(s);
    if (status == KILN_OK)
        status = kiln_spec_parse(s->engine, setup->text, setup->text_length, setup->name, &s->spec, error);
    if (status == KILN_OK) {
        s->bases = kiln__calloc(NULL, s->spec->variant_count + 1, sizeof *s->bases);
        status = s->bases ? kiln__shared_open(s->engine, s->spec, &s->shared, error) : kiln__fail_memory(error);
    }
    if (status == KILN_OK && *setup->smaller)
        status = kiln__shared_open(s->engine, s->spec, &s->small, error);
    if (status == KILN_OK)
        status = enter_sandbox(s, error);
    if (status == KILN_OK) {
        if (s->small)
            kiln__shared_on_launch(s->small, launching, s);
        kiln__shared_on_launch(s->shared, launching, s);
        kiln__shared_on_wait(s->shared, waits, s);
        if (s->engine->sandboxed) {
            kiln__shared_on_keep(s->shared, keep, s);
            if (s->small)
                kiln__shared_on_keep(s->small, keep, s);
        }
    }
    return status;
}

static bool greet(server *s)
{
    kiln__message_header header;
    if (!kiln__socket_message(s->fd, &header, &s->body) || header.kind != KILN__RUNNER_OPEN ||
        !kiln__runner_read_open(s->body, (size_t)header.length, &s->arena, &s->setup))
        return false;
    kiln_error *error = NULL;
    kiln__text message = {0};
    kiln_status status = open_all(s, &error);
    const kiln__runner_greeting greeting = {.status = status,
                                            .why = status == KILN_OK ? s->cores : kiln_error_message(error),
                                            .sandbox = s->sandbox,
                                            .confined = s->confined,
                                            .how = s->how};
    kiln__runner_write_ready(&message, &greeting);
    bool sent = kiln__socket_send(s->fd, &message);
    kiln__text_free(&message);
    kiln_error_free(error);
    return sent && status == KILN_OK;
}

/* Makes inputs and expected answers while the sweep compiles its first configuration. Ignores an error, because the
 * first sample has the same error and reports it. */
static void prepare(server *s)
{
    const kiln_run_options *run = &s->setup.run;
    kiln_error *why = NULL;
    kiln_choice choice = s->setup.choice;
    if (s->small) /* the answers are verified only at the small sizes */
        choice = (kiln_choice){.size_set = s->setup.smaller};
    if (run->input_count == 0)
        kiln__plan_prepare(s->engine, s->spec, &choice, s->small ? s->small : s->shared,
                           !(run->flags & KILN_RUN_NO_VERIFY), &why);
    kiln_error_free(why);
}

/* ---- measuring a sample ---- */

/* Checks that a request has all params of its variant. The params must be in the order of the variant, because the
 * sweep takes them from a space of the same spec. */
static bool has_all_params(const kiln__variant *variant, const kiln__runner_request *request)
{
    bool all = variant && request->params.count == variant->param_count;
    for (size_t i = 0; all && i < variant->param_count; i++)
        all = strcmp(variant->params[i].name, request->params.items[i].name) == 0;
    return all;
}

/* Makes the configuration of a request. All requests of a sweep have the same sizes. So the function resolves the sizes
 * once for each variant. */
static kiln_status make_config(server *s, const kiln__runner_request *request, kiln__config **config,
                               kiln_error **error)
{
    const kiln__variant *variant = kiln__spec_variant(s->spec, request->variant);
    if (!has_all_params(variant, request))
        return kiln__fail(NULL, error, KILN_ERROR_ARGUMENT,
                          "the runner's spec has no variant '%s' with the params of the request", request->variant);
    kiln__config **base = &s->bases[variant - s->spec->variants];
    kiln_choice choice = s->setup.choice;
    choice.variant = request->variant;
    kiln_status status = *base ? KILN_OK : kiln__config_open(s->engine, s->spec, &choice, base, error);
    return status == KILN_OK ? kiln__config_at(*base, request->params.items, config, error) : status;
}

/* Makes a plan from compiled code that the sweep sent. Takes ownership of the configuration. */
static kiln_status make_plan(server *s, kiln__config *config, const kiln__unit *unit, kiln__shared *shared,
                             kiln_plan **plan, kiln_error **error)
{
    kiln__code code = {0};
    kiln_status status = kiln__unit_make(NULL, unit, &code.unit, error);
    if (status != KILN_OK) {
        kiln__config_free(config);
        return status;
    }
    /* the plan takes ownership of the configuration and the code */
    status = kiln__plan_make(s->engine, config, &code, plan, error);
    if (status == KILN_OK)
        kiln__plan_share(*plan, shared);
    return status;
}

/* Sends a finding of the checks to the sweep. */
static int report_finding(void *user, const kiln_check_finding *finding)
{
    server *s = user;
    kiln__text message = {0};
    kiln__runner_write_finding(&message, finding);
    if (!kiln__socket_send(s->fd, &message))
        s->closed = true;
    kiln__text_free(&message);
    return s->closed;
}

/* Verifies the answer of a configuration at the smaller sizes. A sweep that measures in its own process calls
 * kiln__split_verify() instead. */
static kiln_status verify_small(server *s, const kiln__runner_request *request, kiln_result *result, kiln_error **error)
{
    const kiln_choice choice = {.variant = request->variant,
                                .params = request->params.items,
                                .param_count = request->params.count,
                                .size_set = s->setup.smaller};
    kiln__config *config = NULL;
    kiln_plan *plan = NULL;
    const kiln_result *ran = NULL;
    kiln_run_options how = s->setup.run;
    how.flags |= KILN_RUN_NO_MEASURE;
    how.sample_timeout = request->trial.timeout;
    KILN__TRY(kiln__config_make(s->engine, s->spec, &choice, &config, error));
    KILN__TRY(make_plan(s, config, &request->small, s->small, &plan, error));
    kiln_status status = kiln_plan_run(plan, &how, &ran, error);
    if (ran)
        kiln__take_answer(result, ran);
    kiln_plan_close(plan);
    return status;
}

static kiln_status run(server *s, const kiln__runner_request *request, kiln__runner_answer *answer, kiln_plan **made,
                       kiln__text *features, kiln_error **error)
{
    kiln__config *config = NULL;
    kiln_plan *plan = NULL;
    kiln_result *result = &answer->result;
    if (s->small && request->small.ptx_length + request->small.cubin_length > 0)
        KILN__TRY(verify_small(s, request, result, error));
    KILN__TRY(make_config(s, request, &config, error));
    KILN__TRY(make_plan(s, config, &request->unit, s->shared, &plan, error));
    *made = plan; /* the caller reads the times of the repetitions from this plan */
    kiln_run_options how = kiln__trial_run(&s->setup.run, &request->trial);
    how.check = report_finding;
    how.check_user = s;
    if (s->small)
        how.flags |= KILN_RUN_NO_VERIFY;
    if (request->whole)
        kiln__plan_whole(plan);
    kiln__plan_answer(plan, request->trial.answer);
    const kiln_result small = *result, *ran = NULL;
    kiln_status status = kiln_plan_run(plan, &how, &ran, error);
    if (status == KILN_OK) {
        *result = *ran;
        if (s->small)
            kiln__take_answer(result, &small);
        status = kiln__trial_features(plan, features, error);
    }
    return status;
}

static bool answer(server *s, const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__runner_request request;
    bool good = kiln__runner_read_run(body, length, &arena, &request);
    if (good) {
        kiln_error *error = NULL;
        kiln__text message = {0}, features = {0};
        kiln__runner_answer made = {0};
        kiln_plan *plan = NULL;
        made.status = run(s, &request, &made, &plan, &features, &error);
        made.features = kiln__text_get(&features);
        if (plan && made.status == KILN_OK)
            made.times = kiln__plan_times(plan, &made.time_count);
        made.cuda = kiln_error_cuda(error) > 0 ? kiln_error_cuda(error) : 0;
        made.lost = made.status != KILN_OK && kiln__driver_is_sticky((CUresult)made.cuda);
        made.passing = kiln__error_is_passing(error);
        made.why = kiln_error_message(error);
        fflush(stdout); /* the printed output of kernels must come before the result */
        kiln__runner_write_result(&message, &made);
        good = !s->closed && kiln__socket_send(s->fd, &message);
        kiln__text_free(&message);
        kiln__text_free(&features);
        kiln_error_free(error);
        kiln_plan_close(plan);
    }
    kiln__arena_free(&arena);
    return good;
}

int kiln__runner_serve(int fd, kiln__add_hosts add_hosts)
{
    server s = {.fd = fd, .add_hosts = add_hosts};
    kiln__message_header header;
    char *body = NULL;
    bool good = greet(&s);
    if (good)
        prepare(&s);
    while (good && kiln__socket_message(fd, &header, &body)) { /* the loop ends normally when the connection closes */
        good = header.kind == KILN__RUNNER_RUN && answer(&s, body, (size_t)header.length);
        kiln__free(NULL, body);
    }
    for (size_t i = 0; s.bases && i < s.spec->variant_count; i++)
        kiln__config_free(s.bases[i]);
    kiln__free(NULL, s.bases);
    kiln__shared_free(s.shared);
    kiln__shared_free(s.small);
    kiln__text_free(&s.keeps);
    kiln_spec_free(s.spec);
    kiln_engine_close(s.engine);
    kiln__arena_free(&s.arena);
    kiln__free(NULL, s.body);
    return good ? 0 : 1;
}
