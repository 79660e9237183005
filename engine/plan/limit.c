/* limit.c - the time limit of a configuration's kernels, and the caller's request to stop a run.
 *
 * The simulated device ends a kernel itself when the kernel's time is over or the caller's flag is set. A kernel on a
 * GPU cannot be ended. The host polls the stream: it first spins, and then sleeps with two steps of back-off. When
 * the time is over, the host stops waiting. The kernel then keeps the device until the process ends, and the engine is
 * `stuck`. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "limit_internal.h"
#include "plan_internal.h"

#define USUAL 60.0       /* the default limit in seconds, to which twice the budget is added */
#define SPIN_NS 2000000u /* for this time the host polls without sleeping, as the driver does */
#define SHORT_NAP_NS 50000
#define LONG_NAP_NS 2000000
#define LONG_WAIT_NS 2000000000u
#define STOP_GRACE_NS 1000000000u /* the time that a kernel on a GPU has to end after the caller's request to stop */

static bool is_asked(const kiln_plan *plan)
{
    return plan->limit.stop && __atomic_load_n(plan->limit.stop, __ATOMIC_RELAXED);
}

kiln_status kiln__limit_set(kiln_plan *plan, const kiln_run_options *options, kiln_error **error)
{
    double given = options->sample_timeout, budget = options->budget > 0 ? options->budget : 0;
    plan->limit = (kiln__limit){.usual = given == 0, .stop = options->stop};
    if (isnan(given))
        return kiln__fail(plan->mem, error, KILN_ERROR_ARGUMENT, "kiln_run_options.sample_timeout is not a number");
    plan->limit.seconds = given > 0 && isfinite(given) ? given : given == 0 ? USUAL + 2 * budget : 0;
    return KILN_OK;
}

/* Tells the application for how many seconds the kernels may still run. Infinity means that there is no limit. 0 means
 * that the kernels have ended, or that the library no longer waits for them. */
static void tell(const kiln_plan *plan, double seconds)
{
    if (plan->engine->limit)
        plan->engine->limit(plan->engine->limit_user, seconds);
}

/* Starts the clock of the time limit. If there is no limit, or if the limit is beyond the range of the clock, only the
 * caller's request can stop the run. */
static void begin(kiln_plan *plan, uint64_t now)
{
    double ns = plan->limit.seconds * 1e9;
    plan->limit.on = plan->limit.seconds > 0 || plan->limit.stop;
    plan->limit.deadline = ns > 0 && ns < 9e18 ? now + (uint64_t)ns + 1 : 0;
    if (plan->engine->driver.simulator)
        plan->engine->driver.simulator->limit(plan->limit.deadline, plan->limit.stop);
    uint64_t spent = now < kiln__now_ns() ? kiln__now_ns() - now : 0, most = plan->limit.deadline - now;
    tell(plan, !plan->limit.deadline ? INFINITY : spent < most ? (double)(most - spent) / 1e9 : 1e-9);
}

void kiln__limit_start(kiln_plan *plan)
{
    plan->limit.begun = kiln__now_ns();
    begin(plan, plan->limit.begun);
}

void kiln__limit_extend(kiln_plan *plan, double seconds)
{
    if (!plan->limit.usual || !(seconds > 0))
        return;
    plan->limit.seconds += seconds;
    begin(plan, plan->limit.begun);
}

void kiln__limit_end(kiln_plan *plan)
{
    plan->limit.on = false;
    plan->limit.deadline = 0;
    plan->limit.stop = NULL;
    if (plan->engine->driver.simulator)
        plan->engine->driver.simulator->limit(0, NULL);
    tell(plan, 0);
}

kiln__late kiln__limit_late(const kiln_plan *plan)
{
    if (!plan->limit.on)
        return KILN__IN_TIME;
    if (is_asked(plan))
        return KILN__STOPPED;
    return plan->limit.deadline && kiln__now_ns() >= plan->limit.deadline ? KILN__LATE : KILN__IN_TIME;
}

/* ---- waiting ---- */

static void nap(long ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

/* Waits until the event or the stream has completed, or until the time limit is over. After the caller's request to
 * stop, waits at most STOP_GRACE_NS longer. Then returns CUDA_ERROR_TIMEOUT even if the work completes by then. */
static CUresult await(kiln_plan *plan, CUevent event, CUstream stream)
{
    const kiln__driver *driver = &plan->engine->driver;
    uint64_t begun = kiln__now_ns(), asked = 0;
    for (;;) {
        CUresult result = event ? driver->cuEventQuery_(event) : driver->cuStreamQuery_(stream);
        if (result == CUDA_SUCCESS && is_asked(plan)) {
            plan->limit.late = KILN__STOPPED;
            return CUDA_ERROR_TIMEOUT;
        }
        if (result != CUDA_ERROR_NOT_READY)
            return result;
        uint64_t now = kiln__now_ns();
        asked = asked || !is_asked(plan) ? asked : now;
        if ((plan->limit.deadline && now >= plan->limit.deadline) || (asked && now - asked >= STOP_GRACE_NS)) {
            plan->limit.late = asked ? KILN__STOPPED : KILN__LATE;
            atomic_store(&plan->engine->stuck, true);
            return CUDA_ERROR_TIMEOUT;
        }
        if (now - begun >= SPIN_NS)
            nap(now - begun >= LONG_WAIT_NS ? LONG_NAP_NS : SHORT_NAP_NS);
    }
}

CUresult kiln__limit_wait_event(kiln_plan *plan, CUevent event)
{
    const kiln__driver *driver = &plan->engine->driver;
    CUresult result = plan->limit.on && !driver->simulator ? await(plan, event, NULL) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? driver->cuEventSynchronize_(event) : result;
}

CUresult kiln__limit_wait_stream(kiln_plan *plan, CUstream stream)
{
    const kiln__driver *driver = &plan->engine->driver;
    CUresult result = plan->limit.on && !driver->simulator ? await(plan, NULL, stream) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? driver->cuStreamSynchronize_(stream) : result;
}

CUresult kiln__limit_wait_all(kiln_plan *plan)
{
    const kiln__driver *driver = &plan->engine->driver;
    CUresult result = plan->limit.on && !driver->simulator ? await(plan, NULL, NULL) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? driver->cuCtxSynchronize_() : result;
}

/* ---- failing ---- */

static void print_kernels(const kiln_plan *plan, kiln__text *out)
{
    enum { SHOWN = 4 };
    kiln__text_puts(out, plan->kernel_count == 1 ? "kernel " : "one of its kernels ");
    for (size_t i = 0; i < plan->kernel_count && i < SHOWN; i++)
        kiln__text_printf(out, "%s'%s'", i ? ", " : "", plan->kernels[i].name);
    if (plan->kernel_count > SHOWN)
        kiln__text_printf(out, " and %zu more", plan->kernel_count - SHOWN);
}

/* Makes the error of a failed driver call. A C++ kernel appears in it under the name of the spec, not under the mangled
 * name of the module. */
static kiln_status fail_by_name(kiln_plan *plan, CUresult result, const char *what, bool timeout, kiln_error **error)
{
    kiln__text text = {.mem = plan->mem};
    kiln_error *why = NULL;
    kiln_status status = kiln__driver_fail(&plan->engine->driver, plan->mem, result, &why, "%s", what);
    for (const char *at = kiln_error_message(why); *at;) {
        size_t length = *at == '\'' ? strcspn(at + 1, "\'") : 0;
        const char *name = NULL;
        for (size_t k = 0; length && !name && k < plan->kernel_count; k++) {
            const char *symbol = kiln__code_symbol(&plan->code, plan->kernels[k].name);
            if (symbol && strlen(symbol) == length && memcmp(symbol, at + 1, length) == 0)
                name = plan->kernels[k].name;
        }
        if (name)
            kiln__text_printf(&text, "'%s", name);
        else
            kiln__text_add(&text, at, length + 1);
        at += length + 1;
    }
    status = !why || text.failed ? kiln__fail_memory(error)
                                 : kiln__fail_cuda(plan->mem, error, timeout ? KILN_ERROR_TIMEOUT : status, (int)result,
                                                   "%s", kiln__text_get(&text));
    kiln_error_free(why);
    kiln__text_free(&text);
    return status;
}

/* Makes the error of a failed driver call, whose cause is the time limit, the caller's request to stop, or the driver's
 * own error. */
kiln_status kiln__limit_fail(kiln_plan *plan, CUresult result, kiln_error **error, const char *what, ...)
{
    const kiln__driver *driver = &plan->engine->driver;
    kiln__late late = result == CUDA_ERROR_TIMEOUT && plan->limit.late ? plan->limit.late : KILN__IN_TIME;
    if (driver->simulator && plan->limit.on && (result == CUDA_ERROR_TIMEOUT || result == CUDA_ERROR_LAUNCH_TIMEOUT))
        late = result == CUDA_ERROR_LAUNCH_TIMEOUT && kiln__limit_late(plan) == KILN__STOPPED ? KILN__IN_TIME
                                                                                              : kiln__limit_late(plan);
    kiln__text text = {.mem = plan->mem};
    va_list arguments;
    va_start(arguments, what);
    kiln__text_vprintf(&text, what, arguments);
    va_end(arguments);
    kiln_status status;
    if (late == KILN__IN_TIME) {
        status = fail_by_name(plan, result, kiln__text_get(&text), false, error);
    } else if (late == KILN__STOPPED) {
        status = kiln__fail(
            plan->mem, error, KILN_ERROR_INTERRUPTED, "%s was stopped%s", kiln__text_get(&text),
            !atomic_load(&plan->engine->stuck) ? "" : "; a kernel occupies the device until this process ends");
    } else if (driver->simulator) {
        kiln__text_printf(&text, " took longer than the limit of %g s (sample_timeout)", plan->limit.seconds);
        status = fail_by_name(plan, result, kiln__text_get(&text), true, error);
    } else {
        kiln__text_printf(&text, " took longer than the limit of %g s (sample_timeout): ", plan->limit.seconds);
        print_kernels(plan, &text);
        kiln__text_puts(&text, " occupies the device until this process ends");
        status = kiln__fail(plan->mem, error, KILN_ERROR_TIMEOUT, "%s", kiln__text_get(&text));
    }
    kiln__text_free(&text);
    return status;
}

kiln_status kiln__limit_check(kiln_plan *plan, kiln_error **error)
{
    kiln__late late = kiln__limit_late(plan);
    if (late == KILN__IN_TIME)
        return KILN_OK;
    kiln__text label = {.mem = plan->mem};
    kiln__config_print(plan->config, &label);
    CUresult result = plan->engine->driver.simulator ? plan->engine->driver.cuCtxSynchronize_() : CUDA_SUCCESS;
    kiln_status status =
        result != CUDA_SUCCESS /* a kernel failed, and the driver's result tells which error it was */
            ? kiln__limit_fail(plan, result, error, "running %s %s", plan->spec->name, kiln__text_get(&label))
            : late == KILN__STOPPED ? kiln__fail(plan->mem, error, KILN_ERROR_INTERRUPTED, "running %s %s was stopped",
                                                 plan->spec->name, kiln__text_get(&label))
                                    : kiln__fail(plan->mem, error, KILN_ERROR_TIMEOUT,
                                                 "running %s %s took longer than the limit of %g s "
                                                 "(sample_timeout)",
                                                 plan->spec->name, kiln__text_get(&label), plan->limit.seconds);
    kiln__text_free(&label);
    return status;
}
